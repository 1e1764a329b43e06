import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { framesOf } from '../helper/edge.ts'
import { clientTool, type Json, run } from '../helper/held-calls.ts'
import { pluggedGateway } from '../helper/plugged-gateway.ts'

const ADDER = `export default {
  name: 'adder',
  places: ['call', 'turn'],
  create: () => async (turn, next) => {
    const extra = {
      ...{ name: 'extra', description: 'More', kind: 'builtin', parameters: { type: 'object' } },
      run: async () => ({ content: 'More of it', status: 'ok' })
    }
    const tools = new Map(turn.prompt.tools).set('extra', extra)
    return next({ ...turn, prompt: { ...turn.prompt, tools } })
  }
}`

t.test('a tool that an advisor had added is not there when its call is run, and that is what is said', async t => {
  const chains = {
    call: { call: ['adder', 'tool-search', 'meter', 'retry'] },
    turn: { turn: ['audit', 'memory', 'adder', 'structured-output'] }
  }
  for (const [place, chain] of Object.entries(chains)) {
    const folder = t.testdir({ [place]: {} })
    writeFileSync(join(folder, place, 'adder.js'), ADDER)
    await using gateway = await pluggedGateway(join(folder, place), { plugins: ['./adder.js'], chain }, () => ({
      calls: [
        ['extra', {}],
        ['never_there', {}]
      ]
    }))
    await gateway.ask('call', { session_id: 's1', loopgate: { tool_execution: 'manual' } })
    t.match(await run(gateway.url, { session_id: 's1' }), {
      status: 200,
      messages: [
        {
          content: /^The tool extra was offered when this call was made, but cannot be run now: .* an advisor had added/
        },
        { content: /^There is no tool named never_there\./ }
      ]
    })
  }
})

t.test('where an advisor adds the only tool of the gateway, a mixed batch is held as any other', async t => {
  const folder = t.testdir({})
  writeFileSync(join(folder, 'adder.js'), ADDER)
  const chain = { call: ['adder', 'tool-search', 'meter', 'retry'] }
  await using gateway = await pluggedGateway(folder, { plugins: ['./adder.js'], chain }, ({ messages }) => {
    const calls = ['extra', 'open_page', 'extra'].map(name => [name, {}] as const)
    return messages.some(({ role }) => role === 'tool') ? { text: 'Done.' } : { text: 'Wait.', calls }
  })
  const question = { role: 'user', content: 'What is it?' }
  const asked = async (stream: boolean, more: object): Promise<Json[]> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [question], tools: [clientTool], stream, ...more })
    })
    const text = await response.text()
    if (!stream) return JSON.parse(text).choices[0].message.tool_calls ?? []
    const deltas = framesOf(text).flatMap(frame => frame.choices?.[0]?.delta ?? [])
    return deltas.flatMap(({ tool_calls }) => tool_calls ?? []).filter(({ id }: Json) => id)
  }
  for (const stream of [false, true]) {
    t.strictSame(await asked(stream, { loopgate: { limits: { max_calls: 1 } } }), [], 'nothing waits after a limit')
    const [call, ...others] = await asked(stream, {})
    t.match(call.id, /^call_[0-9A-Z]{26}$/, 'the client has no session, so it is known by the id')
    t.strictSame([call.function.name, others], ['open_page', []])
    const calls = [{ ...call, function: { name: 'open_page', arguments: '{}' } }]
    const result = { role: 'tool', tool_call_id: call.id, content: 'opened' }
    await asked(stream, { messages: [question, { role: 'assistant', content: 'Wait.', tool_calls: calls }, result] })
    t.strictSame(
      gateway.asked
        .at(-1)
        ?.messages.filter(({ role }) => role === 'tool')
        .map(({ content }) => content),
      ['More of it', 'opened', 'More of it']
    )
  }
})
