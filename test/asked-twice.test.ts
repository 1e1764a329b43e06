import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { clientTool } from './helper/held-calls.ts'
import { pluggedGateway } from './helper/plugged-gateway.ts'

const twice = `export default { name: 'twice', places: ['turn'], create: () => async (turn, next) => {
  await next({ ...turn, emit: undefined })
  return next(turn)
} }`
const stock = `export default {
  name: 'stock', description: 'd', input_schema: { type: 'object' }, run: () => '17'
}`

for (const mode of ['call', 'stream'] as const) {
  t.test(`${mode}: an advisor outside memory may ask twice, also in a turn that goes on`, async t => {
    const folder = t.testdir()
    writeFileSync(join(folder, 'twice.js'), twice)
    writeFileSync(join(folder, 'stock.js'), stock)
    const config = { plugins: ['./twice.js', './stock.js'], chain: { turn: ['audit', 'twice', 'memory'] } }
    await using gateway = await pluggedGateway(folder, config, ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'Done.' }
        : {
            calls: [
              ['stock', {}],
              ['open_page', {}]
            ]
          }
    )
    const body = { session_id: 's', tools: [clientTool] }
    t.equal((await gateway.ask(mode, body)).finish, 'tool_calls')
    const messages = [{ role: 'tool', tool_call_id: 'call_open_page_1', content: 'page' }]
    const second = await gateway.ask(mode, { ...body, messages })
    t.match(second, { status: 200, text: 'Done.', finish: 'stop' })
    t.equal(second.error, undefined)
    const session = await (await fetch(`${gateway.url}/v1/sessions/s`)).json()
    t.match(session, { status: 'idle', turns: 1 })
  })
}
