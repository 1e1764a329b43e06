import { readFileSync } from 'node:fs'
import t from 'tap'
import { newSigningSecret, signature, signingKey } from '../../src/egress/signing.ts'
import { startedProgram } from '../helper/started-program.ts'
import { want } from '../helper/want.ts'
import { anEgress, aWebhook } from '../helper/webhook.ts'

const egress = anEgress()
t.teardown(() => egress.close())

const secret = newSigningSecret()
const examples = [
  { name: 'python', command: 'python3', file: 'examples/webhooks/python/webhook.py', needs: want('python3') },
  { name: 'typescript', command: process.execPath, file: 'examples/webhooks/typescript/webhook.ts', needs: {} }
]

for (const { name, command, file, needs } of examples) {
  t.test(`the ${name} example answers signed calls and refuses forged ones`, needs, async t => {
    const url = await startedProgram(t, [command, file], { WEBHOOK_SECRET: secret })
    const { call } = aWebhook(url, {}, { egress, secret })
    t.match(await call('{"sku":"BX-1"}'), { status: 'ok', content: '{"sku":"BX-1","units":17}' })
    t.match(await call('{"sku":"Zürich"}'), { status: 'ok', content: '{"sku":"Zürich","units":0}' })
    const forged = aWebhook(url, {}, { egress, secret: newSigningSecret() })
    t.match(await forged.call('{"sku":"BX-1"}'), { status: 'error', code: 'tool_auth_failed' })

    const body = '{"data":{"call":{"arguments":{"sku":"BX-1"}}}}'
    const now = Math.floor(Date.now() / 1000)
    const signed = (timestamp: number, ...secrets: string[]) =>
      signature({ id: 'tc_1', timestamp, body }, secrets.map(signingKey))
    const post = async (timestamp: number, by: string, sent = body) => {
      const headers = { 'webhook-id': 'tc_1', 'webhook-timestamp': String(timestamp), 'webhook-signature': by }
      const answer = await fetch(url, { method: 'POST', headers, body: sent })
      await answer.arrayBuffer()
      return answer.status
    }
    t.equal(await post(now, signed(now, secret)), 200)
    t.equal(await post(now, signed(now, newSigningSecret(), secret)), 200, 'one of two signatures is enough')
    t.equal(await post(now, signed(now, secret), body.replace('BX-1', 'BX-2')), 401, 'a changed body')
    t.equal(await post(now - 3600, signed(now - 3600, secret)), 401, 'an hour old')
    t.equal(await post(now, ''), 401, 'no signature')
    t.equal(await post(now, `v1a,${signed(now, secret).slice(3)}`), 401, 'another scheme')
  })

  t.test(`the ${name} example is ten lines long`, async t => {
    const text = readFileSync(file, 'utf8')
    // What the webhook does: neither imports and comments, nor starting the server it runs in.
    const handler = text.slice(text.search(/^(?:class|const server)/m), text.search(/^server/m))
    const lines = handler.split('\n').filter(line => line.trim() !== '')
    t.ok(lines.length <= 10, `${lines.length} lines`)
  })
}
