import { BlockList, isIP, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { addressClass, plainAddress } from './address-class.ts'
import { judgeHost } from './judge-host.ts'

export interface EgressPolicy {
  readonly allowHttp: boolean
  readonly allowPrivate: boolean
  /** `[]` = any. */
  readonly ports: readonly number[]
}

export interface JudgeOptions {
  readonly policies: Readonly<Record<string, EgressPolicy>>
  /** Denied under every policy. */
  readonly denyCidrs?: readonly string[]
  /** Where this process listens; asked at every judgement, as it is known only once it does. */
  readonly listening?: () => readonly Listening[]
  readonly publicUrl?: string | undefined
}

export interface Listening {
  readonly address: string
  readonly port: number
}

export type UrlReason = 'scheme' | 'userinfo' | 'fragment' | 'port' | 'host_denied' | 'ip_denied' | 'url_length'

export interface UrlRefusal {
  readonly reason: UrlReason
  /** Goes on after the name of the field: `must be https (egress policy public)`. */
  readonly message: string
}

export interface Judge {
  /** What is wrong with a URL by its text alone; no name is looked up. An unknown policy throws. */
  url(text: string, policy: string): UrlRefusal | undefined
  /** Why no connection may go there under the policy; `undefined` = it may. */
  address(address: string, port: number, policy: string): string | undefined
}

/** The policy of the demonstration tools: this process itself, and nothing of it but their path. */
export const DEMO_POLICY = 'demo'
const DEMO_PATH = '/demo/tools/'
const MAX_URL_LENGTH = 2048

/** Says where calls may go (contract §6.1, §6.4). The same answer at registration and at every connect. */
export function judge(options: JudgeOptions): Judge {
  const { policies, denyCidrs = [], listening = () => [], publicUrl } = options
  const deniedByOperator = rangesOf(denyCidrs)
  const own = publicUrl === undefined ? undefined : new URL(publicUrl)

  const policyOf = (name: string): EgressPolicy => {
    const policy = name === DEMO_POLICY ? demo : Object.hasOwn(policies, name) ? policies[name] : undefined
    if (policy === undefined) throw new TypeError(`There is no egress policy named ${name}.`)
    return policy
  }

  const address = (text: string, port: number, name: string): string | undefined => {
    const policy = policyOf(name)
    const kind = addressClass(text)
    const isOwn = listening().some(each => each.port === port && isReachedBy(each, text))
    if (name === DEMO_POLICY) return isOwn ? undefined : 'not the address of this process'
    if (policy.ports.length > 0 && !policy.ports.includes(port)) return `port ${port}`
    if (kind === 'denied') return 'link-local, cloud metadata or no unicast address'
    const plain = plainAddress(text)
    if (deniedByOperator.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6')) return 'in deny_cidrs'
    if (isOwn || (own !== undefined && isSame(own, text, port))) return 'an address of this process'
    if (policy.allowPrivate) return undefined
    if (kind === 'private') return 'not a public address'
    return isInterface(text) ? 'an interface of this machine' : undefined
  }

  const url = (text: string, name: string): UrlRefusal | undefined => {
    const policy = policyOf(name)
    if (text.length > MAX_URL_LENGTH)
      return { reason: 'url_length', message: `must have at most ${MAX_URL_LENGTH} characters` }
    if (!URL.canParse(text)) return unreadable(text)
    const target = new URL(text)
    return (
      judgeForm(target, text, name, policy) ??
      judgePort(target, name, policy) ??
      judgeTarget(target, name, policy, { own, address })
    )
  }

  return { url, address }
}

const demo: EgressPolicy = { allowHttp: true, allowPrivate: true, ports: [] }

function unreadable(text: string): UrlRefusal {
  return /^https?:/i.test(text)
    ? { reason: 'host_denied', message: 'must be a URL with a host' }
    : { reason: 'scheme', message: 'must be an https URL' }
}

function judgeForm(target: URL, text: string, name: string, policy: EgressPolicy): UrlRefusal | undefined {
  const allowed = target.protocol === 'https:' || (target.protocol === 'http:' && policy.allowHttp)
  if (!allowed) {
    const schemes = policy.allowHttp ? 'http or https' : 'https'
    return { reason: 'scheme', message: `must be ${schemes} (egress policy ${name})` }
  }
  if (target.username !== '' || target.password !== '') {
    return { reason: 'userinfo', message: 'must not contain a user name or password' }
  }
  // An empty fragment leaves no trace in `hash`.
  return text.includes('#') ? { reason: 'fragment', message: 'must not have a fragment' } : undefined
}

function judgePort(target: URL, name: string, policy: EgressPolicy): UrlRefusal | undefined {
  if (policy.ports.length === 0 || policy.ports.includes(portOf(target))) return undefined
  return { reason: 'port', message: `must have port ${policy.ports.join(' or ')} (egress policy ${name})` }
}

function judgeTarget(
  target: URL,
  name: string,
  policy: EgressPolicy,
  { own, address }: { own: URL | undefined; address: Judge['address'] }
): UrlRefusal | undefined {
  const host = target.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) {
    if (address(host, portOf(target), name) !== undefined) {
      return { reason: 'ip_denied', message: `must not point to this address (egress policy ${name})` }
    }
  } else if (!policy.allowPrivate && judgeHost(host) !== undefined) {
    return { reason: 'host_denied', message: `must not point to ${judgeHost(host)} (egress policy ${name})` }
  } else if (own !== undefined && isSame(own, host, portOf(target))) {
    return { reason: 'host_denied', message: 'must not point to this gateway' }
  }
  const outside = name === DEMO_POLICY && !(isIP(host) !== 0 && target.pathname.startsWith(DEMO_PATH))
  return outside ? { reason: 'host_denied', message: `must point to ${DEMO_PATH} of this process` } : undefined
}

function isSame(own: URL, host: string, port: number): boolean {
  const bare = (text: string) => text.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  return plainAddress(bare(own.hostname)) === plainAddress(bare(host)) && portOf(own) === port
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}

/** Does a connection to the address end at the listener? One that listens everywhere hears all of this machine's. */
function isReachedBy(listener: Listening, address: string): boolean {
  const plain = plainAddress(address)
  const at = plainAddress(listener.address)
  if (at === plain) return true
  if (at === 'localhost') return plain === '127.0.0.1' || plain === plainAddress('::1')
  const everywhere = at === '0.0.0.0' || at === plainAddress('::')
  return everywhere && (plain.startsWith('127.') || plain === plainAddress('::1') || isInterface(plain))
}

function isInterface(address: string): boolean {
  const plain = plainAddress(address)
  return Object.values(networkInterfaces()).some(each => each?.some(item => plainAddress(item.address) === plain))
}

function rangesOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [net = '', prefix] = cidr.split('/')
    list.addSubnet(net, Number(prefix), isIPv4(net) ? 'ipv4' : 'ipv6')
  }
  return list
}
