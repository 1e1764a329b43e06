import t, { type Test } from 'tap'
import { ConfigError } from '../../src/config/config-error.ts'
import { effectiveYaml } from '../../src/config/effective.ts'
import { readConfig } from '../../src/config/read.ts'
import { newSigningSecret } from '../../src/egress/signing.ts'

const secret = newSigningSecret()

function read(t: Test, text: string) {
  return readConfig({ cwd: t.testdir({ 'gateway.yaml': text }), env: {} })
}

function errors(t: Test, text: string): string[] {
  try {
    read(t, text)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n').map(line => line.replace('gateway.yaml:', ''))
  }
}

const chain = (turn: string, call = 'tool-search, meter, retry') => `chain: { turn: [${turn}], call: [${call}] }\n`
const declared = (...entries: string[]) => `advisors:\n${entries.map(entry => `  - { ${entry} }\n`).join('')}`
const check = `name: check, url: "https://checks.example.com/x", secret: "${secret}"`

t.test('a remote advisor needs a name, a URL and a secret; the rest has defaults', async t => {
  const text = chain('audit, check, memory') + declared(check)
  t.strictSame(read(t, text).config.advisors, [
    {
      ...{ name: 'check', type: 'remote', places: ['turn'], url: 'https://checks.example.com/x', secret },
      ...{ on: ['request', 'response'], timeout_ms: 2000, fail: 'open', egress_policy: 'public' }
    }
  ])
  t.notMatch(effectiveYaml(read(t, text).config), secret, 'the secret is not shown')
  t.strictSame(errors(t, chain('audit, memory', 'check, meter') + declared(`${check}, places: [call]`)), [])
  t.strictSame(errors(t, chain('audit, memory') + declared(check)), [], 'it may be declared without being listed')
})

t.test('the lists name only what is declared, where it may stand, and once', async t => {
  t.strictSame(errors(t, chain('audit, checks, memory') + declared(check)), [
    '1 chain.turn[1]: there is no advisor named checks; known here are audit, memory, structured-output, check'
  ])
  t.strictSame(errors(t, chain('audit, memory', 'check, meter') + declared(check)), [
    '1 chain.call[0]: check belongs under turn'
  ])
  t.strictSame(errors(t, chain('check, memory') + declared(`${check}, places: [call]`)), [
    '1 chain.turn[0]: check belongs under call'
  ])
  t.strictSame(errors(t, chain('check, check') + declared(check)), ['1 chain.turn[1]: check is listed twice'])
})

t.test('two of one name, and names of the gateway, are refused', async t => {
  t.strictSame(errors(t, declared(check, check)), [
    '3 advisors[1].name: is the name of advisors[0] too; each must have its own'
  ])
  for (const own of ['audit', 'meter', 'structured-output', 'tool-loop', 'guardrails', 'cache']) {
    t.strictSame(errors(t, declared(check.replace('check', own))), [
      `2 advisors[0].name: ${own} is an advisor of the gateway's own; choose another name`
    ])
  }
})

t.test('what it is reached with is checked before anything is started', async t => {
  const wrong = (entry: string) => errors(t, declared(entry))
  t.strictSame(wrong('name: check, url: "https://checks.example.com/x"'), [
    '2 advisors[0].secret: is missing; what it is sent must be signed (advisor check)'
  ])
  t.strictSame(wrong(`${check.replace(secret, '')}`), [
    '2 advisors[0].secret: is missing; what it is sent must be signed (advisor check)'
  ])
  t.strictSame(wrong(check.replace(secret, 'whsec_c2hvcnQ=')), [
    '2 advisors[0].secret: must be whsec_ and 24 to 64 bytes in base64 (advisor check)'
  ])
  t.strictSame(wrong(`${check}, egress_policy: lan`), [
    '2 advisors[0].egress_policy: there is no egress policy named lan; known are public, internal (advisor check)'
  ])
  t.strictSame(wrong(check.replace('https:', 'http:')), [
    '2 advisors[0].url: must be https (egress policy public) (advisor check)'
  ])
  t.strictSame(wrong(check.replace('checks.example.com', '127.0.0.1')), [
    '2 advisors[0].url: must not point to this address (egress policy public) (advisor check)'
  ])
  const inside = check.replace('https://checks.example.com', 'http://127.0.0.1:9000')
  t.strictSame(wrong(`${inside}, egress_policy: internal`), [])
  t.strictSame(wrong(`${check}, on: [], places: [loop], fail: ajar, timeout_ms: 0`).sort(), [
    '2 advisors[0].fail: must be one of open, closed',
    '2 advisors[0].on: must hold at least 1 entries',
    '2 advisors[0].places[0]: must be one of turn, call',
    '2 advisors[0].timeout_ms: must be 1 to 120000'
  ])
})

t.test('where the section cannot be read, nothing is said of the names in the lists', async t => {
  const text = chain('audit, check, memory') + declared('url: "https://checks.example.com/x"')
  t.strictSame(errors(t, text), ['3 advisors[0].name: is missing; it must be text'])
})
