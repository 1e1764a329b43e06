import t from 'tap'
import type { Model } from '../../src/core/turn.ts'
import { anEdge, post } from '../helper/edge.ts'
import { scripted } from '../helper/turn.ts'

t.test('a turn that still runs is shown as far as it has come', async t => {
  let answerNow = () => {}
  const held = new Promise<void>(resolve => {
    answerNow = resolve
  })
  const ids: string[] = []
  const model: Model = async turn => {
    ids.push(turn.id)
    turn.tell({ type: 'round.start', round: 1, offered: ['stock_level'] })
    await held
    return scripted([{ text: 'ok' }])(turn)
  }
  const edge = await anEdge(model)
  t.teardown(() => edge.close())
  const answer = post(edge, {}, { 'x-session-id': 's1' })
  while (edge.events.length === 0) await new Promise(resolve => setTimeout(resolve, 2))
  const id = ids[0] ?? ''
  const look = async () => (await fetch(`${edge.url}/v1/turns/${id}`)).json()
  t.match(await look(), {
    ...{ id, session_id: 's1', key_id: 'key_1', dialect: 'openai', model: 'sim', status: 'running' },
    ...{ http_status: null, finish: null, rounds: [{ n: 1, tools_offered: ['stock_level'], calls: [] }] }
  })
  answerNow()
  await (await answer).text()
  t.match(await look(), { id, status: 'completed', http_status: 200 })
})
