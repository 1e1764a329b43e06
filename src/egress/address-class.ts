import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** `denied` holds under every policy; `private` is for policies that allow it. */
export type AddressClass = 'public' | 'private' | 'denied'

/**
 * Judges an IP address by what is allowed, not by what is known to be bad (`spec/webhooks.md` §3.3.3): public is an
 * IPv4 address outside IANA's special-purpose list, or an IPv6 address inside 2000::/3 and outside its special blocks.
 * Addresses that carry an IPv4 address inside are never better than that one. What is no address is denied.
 */
export function addressClass(address: string): AddressClass {
  const bare = address.split('%', 1)[0] ?? ''
  if (isIPv4(bare)) return classOf4(bare)
  if (!isIPv6(bare)) return 'denied'
  const words = wordsOf(bare)
  if (words.slice(0, 5).every(word => word === 0) && words[5] === 0xffff) return classOf4(dotted(words[6], words[7]))
  if (denied.check(bare, 'ipv6') || carried(words).some(inner => classOf4(inner) === 'denied')) return 'denied'
  return global6.check(bare, 'ipv6') && !special6.check(bare, 'ipv6') ? 'public' : 'private'
}

/** One spelling for one address, so that two can be compared: no zone, mapped IPv4 as IPv4. */
export function plainAddress(address: string): string {
  const bare = address.split('%', 1)[0] ?? ''
  if (!isIPv6(bare)) return bare
  const words = wordsOf(bare)
  const mapped = words.slice(0, 5).every(word => word === 0) && words[5] === 0xffff
  return mapped ? dotted(words[6], words[7]) : words.map(word => word.toString(16)).join(':')
}

function classOf4(address: string): AddressClass {
  if (denied.check(address, 'ipv4')) return 'denied'
  return special4.check(address, 'ipv4') ? 'private' : 'public'
}

/** IPv4 addresses inside an IPv6 one: compatible, SIIT, NAT64 (both prefixes), 6to4, Teredo. */
function carried(words: readonly number[]): readonly string[] {
  const [a, b, c, d, e, f, g, h] = words
  const zeros = (...some: (number | undefined)[]) => some.every(word => word === 0)
  const found: string[] = []
  // `::` and `::1` are not compatible addresses; the lists judge them.
  if (zeros(a, b, c, d, e, f) && (g !== 0 || (h ?? 0) > 1)) found.push(dotted(g, h))
  if (zeros(a, b, c, d, f) && e === 0xffff) found.push(dotted(g, h))
  if (a === 0x64 && b === 0xff9b) {
    found.push(dotted(g, h))
    // RFC 6052 with a /48 prefix parts the address around a byte that must be zero.
    if (c === 1 && d !== 0) found.push(dotted(d, (((e ?? 0) & 0xff) << 8) | ((f ?? 0) >> 8)))
  }
  if (a === 0x2002) found.push(dotted(b, c))
  if (a === 0x2001 && b === 0) found.push(dotted((g ?? 0) ^ 0xffff, (h ?? 0) ^ 0xffff))
  return found
}

function dotted(high = 0, low = 0): string {
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/** The eight 16-bit words of a valid IPv6 address. */
function wordsOf(address: string): number[] {
  const tail = address.slice(address.lastIndexOf(':') + 1)
  let hex = address
  if (tail.includes('.')) {
    const [a = 0, b = 0, c = 0, d = 0] = tail.split('.').map(Number)
    hex = `${address.slice(0, -tail.length)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  }
  const [head = '', rest] = hex.split('::')
  const parse = (text: string) => (text === '' ? [] : text.split(':').map(word => Number.parseInt(word, 16)))
  const front = parse(head)
  if (rest === undefined) return front
  const back = parse(rest)
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back]
}

function blockList(...cidrs: readonly string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [net = '', prefix] = cidr.split('/')
    list.addSubnet(net, Number(prefix), isIPv4(net) ? 'ipv4' : 'ipv6')
  }
  return list
}

/** Link-local, cloud metadata (contract §6.4), and what is no single machine: unspecified, multicast, broadcast. */
const denied = blockList(
  ...['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '0.0.0.0/8', '224.0.0.0/4', '255.255.255.255/32'],
  ...['fe80::/10', 'fd00:ec2::254/128', '::/128', 'ff00::/8']
)

/** IANA's IPv4 special-purpose registry. */
const special4 = blockList(
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4']
)

const global6 = blockList('2000::/3')
const special6 = blockList('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '2620:4f:8000::/48')
