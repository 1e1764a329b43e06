import t from 'tap'
import type { Message } from '../../src/core/chat.ts'
import { textOf } from '../../src/core/text.ts'
import type { Model, Turn } from '../../src/core/turn.ts'
import { aRemoteAdvisor, EVERYWHERE, type Placed, played } from '../helper/remote.ts'
import { type Scripted, scripted, toolbox } from '../helper/turn.ts'

const usage = { prompt: 100, completion: 16, total: 116 }
const stock = { id: 'call_1', name: 'stock_level', arguments: '{"sku":"BX-1"}' }
const tools = toolbox({ stock_level: async () => ({ content: '17', status: 'ok', attempts: 1 }), open_page: undefined })

/** Two rounds: a call, then the answer. */
const rounds: readonly Scripted[] = [
  { text: 'Let me see.', calls: [stock], usage },
  { text: 'There are 17.', usage }
]
const withTools = (turn: Partial<Turn> = {}) => {
  const messages: Message[] = [
    { role: 'system', id: 'sys', content: 'Be brief.' },
    { role: 'user', id: 'msg_question', content: 'How many BX-1? I am ann@example.com.' }
  ]
  return { ...turn, prompt: { model: 'sim', messages, tools, params: {} } }
}
const lines = (model: Model & { seen: Turn[] }) =>
  model.seen.map(({ prompt }) => prompt.messages.map(({ role, content }) => `${role}: ${textOf(content)}`))
const title = (what: string, { place, mode }: Placed) => `${what} (${place}, ${mode})`

for (const placed of EVERYWHERE) {
  const { place, mode } = placed
  const asksOfTurn = place === 'turn' ? 1 : 2

  t.test(title('204 changes nothing; it is told the messages, the tools and the usage', placed), async t => {
    const server = await aRemoteAdvisor(t, () => undefined)
    const model = scripted(rounds)
    const { answer, text, turn } = await played(t, model, { endpoint: server, placed, changes: withTools() })
    t.match(answer, { message: { content: 'There are 17.' }, finish: 'stop', usage: { total: 232 } })
    t.equal(answer?.messages.at(-1), answer?.message)
    t.equal(
      lines(model)[1]?.join(' | '),
      ['system: Be brief.', 'user: How many BX-1? I am ann@example.com.', 'assistant: Let me see.', 'tool: 17'].join(
        ' | '
      )
    )
    if (mode === 'stream') t.equal(text, place === 'turn' ? 'There are 17.' : 'Let me see.\n\nThere are 17.')
    t.strictSame(
      server.asked.map(({ type }) => type),
      Array.from({ length: asksOfTurn }, () => ['advisor.request', 'advisor.response']).flat()
    )
    t.strictSame(server.asked[0], {
      type: 'advisor.request',
      data: {
        turn: turn.id,
        round: place === 'turn' ? 0 : 1,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'How many BX-1? I am ann@example.com.' }
        ],
        tools: ['stock_level', 'open_page'],
        usage: null
      }
    })
    const total = place === 'turn' ? 232 : 116
    t.match(server.asked.at(-1)?.data, {
      round: place === 'turn' ? 0 : 2,
      message: { role: 'assistant', content: 'There are 17.' },
      usage: { total_tokens: total }
    })
    t.match(server.requests[0]?.headers, {
      'content-type': 'application/json',
      'webhook-id': /^adv_[0-9A-Z]{26}$/,
      traceparent: /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/,
      'x-gateway-hops': '1'
    })
    t.equal(turn.told.filter(({ type }) => type === 'advisor').length, 2 * asksOfTurn)
    t.notOk(turn.told.some(({ type }) => type === 'note'))
  })

  t.test(title('messages are replaced; what is unchanged stays the very same', placed), async t => {
    const server = await aRemoteAdvisor(t, ({ data: { messages = [] } }) => ({
      messages: [
        { role: 'system', content: 'Speak Dutch.' },
        ...messages.map(each => ({ ...each, content: String(each.content).replace(/\S+@\S+\b/, '[email]') }))
      ]
    }))
    const model = scripted(rounds)
    const { answer } = await played(t, model, {
      ...{ endpoint: server, placed, changes: withTools() },
      options: { on: ['request'] }
    })
    t.equal(textOf(answer?.message.content ?? ''), 'There are 17.')
    const question = 'user: How many BX-1? I am [email].'
    t.strictSame(lines(model), [
      ['system: Speak Dutch.', 'system: Be brief.', question],
      ['system: Speak Dutch.', 'system: Be brief.', question, 'assistant: Let me see.', 'tool: 17']
    ])
    for (const seen of model.seen) {
      t.equal(seen.question, 'msg_question', 'the turn begins at the same message')
      t.equal(seen.prompt.messages.find(({ id }) => id === 'sys')?.content, 'Be brief.')
      t.equal(textOf(seen.prompt.messages.find(({ id }) => id === 'msg_question')?.content ?? ''), question.slice(6))
    }
    // In `call` each round begins with what the client said.
    if (place === 'call') t.match(server.asked[1]?.data.messages?.[1]?.content, /ann@example.com/)
    t.strictSame(
      answer?.messages.map(({ role }) => role),
      ['assistant', 'tool', 'assistant']
    )
  })

  t.test(title('the message is replaced before anybody hears of it', placed), async t => {
    const server = await aRemoteAdvisor(t, ({ data: { message = {} } }) => ({
      message: { ...message, content: String(message.content).replaceAll('17', '[number]') }
    }))
    const { answer, text, heard } = await played(t, scripted(rounds), {
      ...{ endpoint: server, placed, changes: withTools() },
      options: { on: ['response'] }
    })
    t.match(answer, { message: { content: 'There are [number].', id: 'msg_2' }, finish: 'stop', usage: { total: 232 } })
    t.equal(answer?.messages.at(-1), answer?.message)
    if (mode === 'stream') t.ok(text.endsWith('There are [number].'))
    t.notMatch(JSON.stringify(heard), /17/)
  })

  t.test(title('an answer to the request ends the turn, and no model is asked', placed), async t => {
    const server = await aRemoteAdvisor(t, () => ({
      answer: { content: 'I may not speak of that.' },
      usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 }
    }))
    const model = scripted(rounds)
    const { answer, text, turn } = await played(t, model, { endpoint: server, placed, changes: withTools() })
    t.equal(model.seen.length, 0)
    t.match(answer, { message: { role: 'assistant', content: 'I may not speak of that.', calls: [] }, finish: 'stop' })
    t.match(answer?.usage, { prompt: 9, completion: 1, total: 10 })
    t.equal(answer?.messages.at(-1), answer?.message)
    if (mode === 'stream') t.equal(text, 'I may not speak of that.')
    t.match(
      turn.told.filter(({ type }) => type === 'usage'),
      [{ provider: 'advisor', model: 'check', usage: { total: 10 } }]
    )
  })

  t.test(title('an answer to the response ends the turn in place of what was said', placed), async t => {
    const completion = {
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'No.' }, finish_reason: 'content_filter' }],
      usage: { prompt_tokens: 3, completion_tokens: 1 }
    }
    const server = await aRemoteAdvisor(t, () => ({ answer: completion }))
    const model = scripted(rounds)
    const { answer, text } = await played(t, model, {
      ...{ endpoint: server, placed, changes: withTools() },
      options: { on: ['response'] }
    })
    t.equal(model.seen.length, place === 'turn' ? 2 : 1, 'in `call` no call of the round is run')
    t.match(answer, { message: { content: 'No.', calls: [] }, finish: 'content_filter' })
    t.equal(answer?.usage?.total, (place === 'turn' ? 232 : 116) + 4)
    if (mode === 'stream') t.equal(text, 'No.')
  })

  for (const phase of ['request', 'response'] as const) {
    t.test(title(`an error to the ${phase} refuses the turn`, placed), async t => {
      const said = { error: { code: 'pii', message: 'Leave out\u0000 e-mail addresses.' }, usage: { prompt_tokens: 5 } }
      const server = await aRemoteAdvisor(t, () => said)
      const { answer, error, heard } = await played(t, scripted(rounds), {
        ...{ endpoint: server, placed, changes: withTools() },
        options: { on: [phase] }
      })
      t.equal(answer, undefined)
      t.match(error, { code: 'guardrail_blocked', message: 'Leave out e-mail addresses.', detail: { reason: 'pii' } })
      const spent = phase === 'request' ? 0 : place === 'turn' ? 232 : 116
      t.match(error, { detail: { usage: { total: spent + 5 } } })
      t.strictSame(heard, [])
    })
  }

  t.test(title('what it used itself counts, also when it has nothing to say', placed), async t => {
    const server = await aRemoteAdvisor(t, () => ({
      usage: { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 }
    }))
    const { answer, turn } = await played(t, scripted(rounds), { endpoint: server, placed, changes: withTools() })
    t.equal(answer?.usage?.total, 232 + 3 * 2 * asksOfTurn)
    const told = turn.told.flatMap(event => (event.type === 'usage' ? event.usage.total : []))
    t.strictSame(
      told,
      Array.from({ length: 2 * asksOfTurn }, () => 3)
    )
    const metered = await played(t, scripted(rounds), {
      ...{ endpoint: server, placed, changes: withTools() },
      options: { isMetered: true }
    })
    t.notOk(
      metered.turn.told.some(({ type }) => type === 'usage'),
      'a meter around it tells it'
    )
  })

  t.test(title('calls may be taken out of an answer, or given other arguments', placed), async t => {
    const call = (id: string) => ({ id, name: 'open_page', arguments: '{"url":"/a"}' })
    const server = await aRemoteAdvisor(t, ({ data: { message = {} } }) => ({
      message: {
        ...message,
        tool_calls: [{ id: 'c2', type: 'function', function: { name: 'open_page', arguments: '{"url":"/safe"}' } }]
      }
    }))
    const script = [{ text: '', calls: [call('c1'), call('c2')], usage }]
    const { answer, heard } = await played(t, scripted(script), {
      ...{ endpoint: server, placed, changes: withTools() },
      options: { on: ['response'] }
    })
    t.match(answer, { finish: 'client_calls', message: { calls: [{ id: 'c2', arguments: '{"url":"/safe"}' }] } })
    t.equal(answer?.message.calls.length, 1)
    if (mode === 'stream') t.match(heard.at(-1), { type: 'call', index: 0, id: 'c2', arguments: '{"url":"/safe"}' })

    const none = await aRemoteAdvisor(t, () => ({ message: { role: 'assistant', content: 'No page for you.' } }))
    const without = await played(t, scripted(script), {
      ...{ endpoint: none, placed, changes: withTools() },
      options: { on: ['response'] }
    })
    t.match(without.answer, { finish: 'stop', message: { calls: [], content: 'No page for you.' } })
  })

  t.test(title('with several choices asked for it refuses: it is asked about one', placed), async t => {
    const server = await aRemoteAdvisor(t, () => undefined)
    const { prompt } = withTools()
    const changes = { prompt: { ...prompt, tools: new Map(), params: { n: 2 } } }
    const several = await played(t, scripted(rounds), { endpoint: server, placed, changes })
    t.match(several.error, { code: 'invalid_request', detail: { param: 'n' } })
    t.equal(server.asked.length, 0)
    const before = await played(t, scripted([{ text: 'Yes.' }]), {
      ...{ endpoint: server, placed, changes },
      options: { on: ['request'] }
    })
    t.equal(before.error, undefined, 'one that only sees requests may')
  })
}

t.test('nothing that was replaced stays beside the message', async t => {
  const server = await aRemoteAdvisor(t, () => ({ message: { content: 'Fine.', reasoning_content: 'Short.' } }))
  const secretive: Model = async turn => {
    const answer = await scripted([{ text: 'secret' }])(turn)
    return {
      ...answer,
      message: { ...answer.message, reasoning: { text: 'secret', field: 'reasoning_content' } },
      choice: { logprobs: { content: [{ token: 'secret' }] }, fields: { system_fingerprint: 'fp' } },
      partialResults: [{ id: 'c', name: 'n', content: 'secret' }]
    }
  }
  const { answer } = await played(t, secretive, {
    ...{ endpoint: server, placed: { place: 'call', mode: 'call' } },
    options: { on: ['response'] }
  })
  t.notMatch(JSON.stringify({ ...answer, offered: [] }), /secret/)
  t.match(answer, { message: { reasoning: { text: 'Short.' } }, choice: { fields: { system_fingerprint: 'fp' } } })
})

t.test('what is known of the tokens of an answer comes with its text', async t => {
  const server = await aRemoteAdvisor(t, () => undefined)
  const logprobs = { content: [{ token: 'Fine' }] }
  const model: Model = async turn => ({ ...(await scripted([{ text: 'Fine.' }])(turn)), choice: { logprobs } })
  const { heard, answer } = await played(t, model, { endpoint: server, placed: { place: 'call', mode: 'stream' } })
  t.strictSame(heard, [{ type: 'text', text: 'Fine.', logprobs }])
  t.match(answer?.choice, { logprobs })
})
