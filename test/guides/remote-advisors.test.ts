import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { startGateway } from '../../src/cases/gateway.ts'
import { newSigningSecret } from '../../src/egress/signing.ts'
import { fencedBlocks } from '../helper/fenced-blocks.ts'
import { startedProgram } from '../helper/started-program.ts'
import { want } from '../helper/want.ts'

const GUIDE = 'docs/guides/remote-advisors.md'
const blocks = fencedBlocks(GUIDE)
const textOf = (language: string) => blocks.find(block => block.language === language)?.text ?? ''

// Starts processes, which takes a while on a busy machine.
t.setTimeout(120_000)

/** The guide's program, as its own process; resolves to where it listens. */
function program(t: Test, secret: string): Promise<string> {
  const folder = t.testdir({ 'pii_check.py': textOf('python') })
  return startedProgram(t, ['python3', `${folder}/pii_check.py`], { PII_CHECK_SECRET: secret })
}

/** A gateway with the guide's configuration, but for the port of the advisor. */
async function gateway(t: Test, url: string, secret: string, turn?: readonly string[]) {
  const config = parse(textOf('yaml').replace('http://127.0.0.1:9100', url))
  const chain = { ...config.chain, ...(turn && { turn }) }
  const env = { PII_CHECK_SECRET: secret }
  const started = await startGateway({ config: { ...config, chain, default_model: 'sim-script' }, env })
  t.teardown(() => started.stop())
  const ask = async (content: string, answer: string, more: object = {}) => {
    const script = [{ text: answer }]
    const body = { messages: [{ role: 'user', content }], session_id: 's1', ...more, loopgate: { script, tools: [] } }
    const response = await fetch(`${started.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
    return { status: response.status, text: await response.text() }
  }
  const remembered = async () => {
    const { data } = (await (await fetch(`${started.url}/v1/sessions/s1/messages`)).json()) as {
      data: readonly { message: { content: string } }[]
    }
    return data.map(({ message }) => message.content)
  }
  return { ...started, ask, remembered }
}

t.test("the guide's advisor masks and refuses, in call and stream", want('python3'), async t => {
  const secret = newSigningSecret()
  const { ask, remembered } = await gateway(t, await program(t, secret), secret)
  const called = await ask('I am ann@example.com.', 'Noted, ann@example.com!')
  t.equal(called.status, 200)
  t.equal(JSON.parse(called.text).choices[0].message.content, 'Noted, [email]!')
  const streamed = await ask('And again.', 'Write to bob@example.com soon', { stream: true })
  t.match(streamed.text, /"content":"Write to \[email\] soon"/)
  t.notMatch(streamed.text, /bob@/)
  const parts = await ask('', 'Fine.', { messages: [{ role: 'user', content: [{ type: 'text', text: 'ann@x.org' }] }] })
  t.equal(parts.status, 200)

  const refused = await ask('Take 4111 1111 1111 1111.', 'Thank you.')
  t.equal(refused.status, 400)
  t.strictSame(JSON.parse(refused.text).error, {
    message: 'Please leave out the card number.',
    type: 'invalid_request_error',
    param: null,
    code: 'guardrail_blocked',
    reason: 'card_number'
  })
  t.strictSame((await remembered()).slice(0, 4), [
    ...['I am ann@example.com.', 'Noted, [email]!'],
    ...['And again.', 'Write to [email] soon']
  ])
})

t.test('what the model is shown is what the advisor left of it', want('python3'), async t => {
  const secret = newSigningSecret()
  const { url, remembered } = await gateway(t, await program(t, secret), secret, ['audit', 'pii-check', 'memory'])
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-id': 's1' },
    body: JSON.stringify({ model: 'sim', messages: [{ role: 'user', content: 'I am ann@example.com today' }] })
  })
  t.match(await response.text(), /You said: I am \[email\] today/)
  t.match(await remembered(), ['I am [email] today', /You said/], 'before memory, memory never sees it')
})

t.test('it refuses what it was not sent by the gateway', want('python3'), async t => {
  const url = await program(t, newSigningSecret())
  const forged = await fetch(url, {
    method: 'POST',
    headers: { 'webhook-id': 'adv_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) },
    body: '{}'
  })
  t.equal(forged.status, 401)
  const { ask } = await gateway(t, url, newSigningSecret())
  const closed = await ask('Hello', 'Hi')
  t.equal(closed.status, 502, 'a gateway with another secret gets nothing from it either')
  t.match(JSON.parse(closed.text).error, { code: 'upstream_error', reason: 'advisor_failed' })
})
