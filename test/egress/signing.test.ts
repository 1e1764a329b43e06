import OpenAI from 'openai'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { isSigningSecret, newSigningSecret, signature, signingKey } from '../../src/egress/signing.ts'

const id = 'tc_01J00000000000000000000000r1i0'
const body = '{"type":"tool.call","data":{"city":"Zürich"}}'
const now = () => Math.floor(Date.now() / 1000)

function headersOf(timestamp: number, ...secrets: string[]): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature({ id, timestamp, body }, secrets.map(signingKey))
  }
}

t.test('a secret is whsec_ and 32 bytes, each time others', async t => {
  const secret = newSigningSecret()
  t.ok(isSigningSecret(secret))
  t.equal(Buffer.from(secret.slice(6), 'base64').length, 32)
  t.not(secret, newSigningSecret())
  for (const bad of ['whsec_', 'whsec_c2hvcnQ=', 'secret', `whsec_${Buffer.alloc(65).toString('base64')}`, 'whsec_ä']) {
    t.notOk(isSigningSecret(bad), bad)
  }
})

t.test('the libraries of Standard Webhooks and of a vendor verify our signatures', async t => {
  const secret = newSigningSecret()
  t.match(new Webhook(secret).verify(body, headersOf(now(), secret)), { type: 'tool.call' })
  const client = new OpenAI({ apiKey: 'none', webhookSecret: secret })
  t.match(await client.webhooks.unwrap(body, headersOf(now(), secret)), { type: 'tool.call' })
})

t.test('with two signatures the holder of either secret is content', async t => {
  const [fresh, old] = [newSigningSecret(), newSigningSecret()]
  const headers = headersOf(now(), fresh, old)
  t.match(headers['webhook-signature'], /^v1,\S{44} v1,\S{44}$/)
  for (const secret of [fresh, old]) t.ok(new Webhook(secret).verify(body, headers))
  const client = new OpenAI({ apiKey: 'none', webhookSecret: old })
  t.ok(await client.webhooks.unwrap(body, headers))
})

t.test('another body, id, time or secret does not fit', async t => {
  const secret = newSigningSecret()
  const verify = (changes: Record<string, string>, text = body, by = secret) =>
    new Webhook(by).verify(text, { ...headersOf(now(), secret), ...changes })
  t.ok(verify({}))
  t.throws(() => verify({}, `${body} `))
  t.throws(() => verify({ 'webhook-id': 'tc_other' }))
  t.throws(() => verify({ 'webhook-timestamp': String(now() + 1) }))
  t.throws(() => verify({}, body, newSigningSecret()))
  t.throws(() => new Webhook(secret).verify(body, headersOf(now() - 3600, secret)), 'a replay of an hour ago')
})
