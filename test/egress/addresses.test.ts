import { networkInterfaces } from 'node:os'
import t from 'tap'
import { addressClass, plainAddress } from '../../src/egress/address-class.ts'
import { judge } from '../../src/egress/judge.ts'
import { policies } from '../helper/webhook.ts'

t.test('addresses are judged by what is allowed', async t => {
  const rows = {
    public: [
      ...[
        '93.184.216.34',
        '8.8.8.8',
        '172.15.255.255',
        '172.32.0.1',
        '100.63.255.255',
        '169.253.1.1',
        '223.255.255.255'
      ],
      ...['2606:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8', '2003::1']
    ],
    private: [
      ...['10.0.0.5', '127.0.0.1', '127.8.9.10', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1'],
      ...['192.0.0.192', '192.0.2.1', '192.31.196.1', '192.52.193.1', '192.88.99.1', '192.175.48.1', '198.18.0.1'],
      ...['198.51.100.1', '203.0.113.1', '240.0.0.1', '::1', '::7f00:1', '::ffff:7f00:1', '::ffff:127.0.0.1'],
      ...[
        '64:ff9b::7f00:1',
        '64:ff9b:1::a00:1',
        '2002:7f00:1::',
        '2001::1',
        '2001:db8::1',
        '3fff::1',
        '2620:4f:8000::1'
      ],
      ...['fc00::1', 'fd00::1', 'fec0::1', '4000::1', '100::1', '::ffff:0:7f00:1']
    ],
    denied: [
      ...['169.254.169.254', '169.254.0.1', '168.63.129.16', '100.100.100.200', '0.0.0.0', '0.1.2.3', '224.0.0.1'],
      ...['239.1.1.1', '255.255.255.255', '::', 'fe80::1', 'fe80::1%eth0', 'febf::1', 'fd00:ec2::254', 'ff02::1'],
      ...[
        '::ffff:169.254.169.254',
        '::ffff:a9fe:a9fe',
        '64:ff9b::a9fe:a9fe',
        '64:ff9b:1::a9fe:a9fe',
        '2002:a9fe:a9fe::'
      ],
      ...[
        '::a9fe:a9fe',
        '::ffff:0:a9fe:a9fe',
        '2001:0:1::5601:5601',
        '64:ff9b::168.63.129.16',
        '64:ff9b:1:a9fe:a9:fe00::',
        'localhost',
        '',
        '1.2.3'
      ]
    ]
  }
  for (const [kind, addresses] of Object.entries(rows)) {
    for (const address of addresses) t.equal(addressClass(address), kind, `${address} is ${kind}`)
  }
})

t.test('one address has one spelling', async t => {
  t.equal(plainAddress('::ffff:127.0.0.1'), '127.0.0.1')
  t.equal(plainAddress('FE80::1%lo'), plainAddress('fe80:0:0:0:0:0:0:1'))
  t.not(plainAddress('::1'), plainAddress('::2'))
})

// Of the shared abuse cases, area url, with more of the same kind.
const HOSTILE: readonly [string, string][] = [
  ...['127.0.0.1', '127.8.9.10', '2130706433', '0x7f000001', '0177.0.0.1', '127.1', '0', '10.0.0.5'].map(ip),
  ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::7f00:1]', '[64:ff9b::7f00:1]'].map(ip),
  ...['[64:ff9b:1::a9fe:a9fe]', '[2002:7f00:1::]', '[2001::1]', '[fec0::1]', '[fd00:ec2::254]', '[fe80::1]'].map(ip),
  ...['169.254.169.254', '168.63.129.16', '100.100.100.200', '192.168.0.1', '①②⑦.⓪.⓪.①', '127。0。0。1'].map(ip),
  ...['１２７.0.0.1', '127%2e0%2e0%2e1', '%31%32%37.0.0.1', '0x7f.1', '017700000001', '192.0.0.192'].map(ip),
  ['https://api.example.com@127.0.0.1/hook', 'userinfo'],
  ['https://user:pw@api.example.com/', 'userinfo'],
  ['https://127.0.0.1\\@api.example.com/', 'ip_denied'],
  ...['localhost', 'localhost.', 'LOCALHOST', 'x.localhost', 'kubernetes.default.svc', 'redis', 'printer.local'].map(
    host
  ),
  ...['metadata.google.internal', 'db.cluster.local', 'nas.home.arpa', 'ｌocalhost', 'api.example.com.svc.'].map(host),
  ['file:///etc/passwd', 'scheme'],
  ['http://api.example.com/hook', 'scheme'],
  ['gopher://api.example.com/', 'scheme'],
  ['javascript:alert(1)', 'scheme'],
  ['//api.example.com/', 'scheme'],
  ['', 'scheme'],
  ['https://', 'host_denied'],
  ['https://a b/', 'host_denied'],
  ['https://[::1%25lo]/', 'host_denied'],
  ['https://api.example.com/#x', 'fragment'],
  ['https://api.example.com/#', 'fragment'],
  ['https://api.example.com:8443/', 'port'],
  ['https://api.example.com:80/', 'port'],
  [`https://api.example.com/${'a'.repeat(2048)}`, 'url_length'],
  ['https://gateway.example.com/v1/chat/completions', 'host_denied']
]

function ip(literal: string): [string, string] {
  return [`https://${literal}/hook`, 'ip_denied']
}

function host(name: string): [string, string] {
  return [`https://${name}/hook`, 'host_denied']
}

t.test('the URL of a tool is judged at registration, with the reason', async t => {
  const { url } = judge({ policies, publicUrl: 'https://gateway.example.com' })
  for (const [text, reason] of HOSTILE) t.equal(url(text, 'public')?.reason, reason, text.slice(0, 80))
  for (const text of [
    'https://tools.example.com/stock',
    'https://tools.example.com:443/a?b=c',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/'
  ]) {
    t.equal(url(text, 'public'), undefined, text)
  }
  t.throws(() => url('https://tools.example.com/', 'nosuch'))
})

t.test('the policy internal allows private addresses and http, never metadata or the gateway itself', async t => {
  const listening = () => [{ address: '127.0.0.1', port: 8080 }]
  const { url } = judge({
    policies,
    listening,
    denyCidrs: ['10.9.0.0/16', 'fd12::/32'],
    publicUrl: 'http://gw.internal:81'
  })
  for (const text of [
    'http://127.0.0.1:9000/',
    'http://redis:6379/',
    'https://10.0.0.5/',
    'http://[::1]:8080/',
    'http://gw.internal/'
  ]) {
    t.equal(url(text, 'internal'), undefined, text)
  }
  const refused: readonly [string, string][] = [
    ['http://169.254.169.254/latest/', 'ip_denied'],
    ['http://[fd00:ec2::254]/', 'ip_denied'],
    ['http://100.100.100.200/', 'ip_denied'],
    ['http://[::ffff:169.254.169.254]/', 'ip_denied'],
    ['http://127.0.0.1:8080/v1/tools', 'ip_denied'],
    ['http://[::ffff:127.0.0.1]:8080/', 'ip_denied'],
    ['http://10.9.1.1/', 'ip_denied'],
    ['http://[fd12::1]/', 'ip_denied'],
    ['http://gw.internal:81/', 'host_denied']
  ]
  for (const [text, reason] of refused) t.equal(url(text, 'internal')?.reason, reason, text)
})

t.test('a gateway that listens everywhere is found under every address of its machine', async t => {
  const { address } = judge({ policies, listening: () => [{ address: '::', port: 8080 }] })
  const own = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  for (const text of ['127.0.0.1', '127.0.0.2', '::1', ...own.map(each => each.address)]) {
    t.ok(address(text, 8080, 'internal'), text)
  }
  t.notOk(address('127.0.0.1', 8081, 'internal'))
})

t.test('the policy demo reaches the demonstration tools of this process and nothing else', async t => {
  const { url, address } = judge({ policies, listening: () => [{ address: '127.0.0.1', port: 8080 }] })
  t.equal(url('http://127.0.0.1:8080/demo/tools/get_weather', 'demo'), undefined)
  for (const text of [
    'http://127.0.0.1:8080/v1/tools',
    'http://127.0.0.1:8080/demo/tools/../../v1/tools',
    'http://127.0.0.1:8080/demo/tools/%2e%2e/%2e%2e/v1/tools',
    'http://127.0.0.1:8081/demo/tools/x',
    'http://localhost:8080/demo/tools/x',
    'http://127.0.0.2:8080/demo/tools/x',
    'https://tools.example.com/demo/tools/x'
  ]) {
    t.ok(url(text, 'demo'), text)
  }
  t.ok(address('127.0.0.1', 8081, 'demo'))
  t.ok(address('10.0.0.1', 8080, 'demo'))
  t.ok(url('http://127.0.0.1:8080/demo/tools/get_weather', 'internal'), 'its own address stays denied elsewhere')
})
