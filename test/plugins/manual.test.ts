import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run } from '../helper/held-calls.ts'
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
