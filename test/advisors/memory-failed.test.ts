import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import type { TurnEvent } from '../../src/core/events.ts'
import { aConversation, screen, stock } from '../helper/conversation.ts'
import { aPolicy } from '../helper/turn.ts'

t.test('a failed or cancelled turn that did nothing is kept as its question, and never recalled', async t => {
  const talk = await aConversation(t, { recall: 'all' })
  const broken = new GatewayError('upstream_disconnected', 'It broke.')
  await t.rejects(talk.ask('Count', [{ text: 'One two', error: broken, errorAfter: 3 }]), broken)
  const left = new GatewayError('client_closed', 'Gone.')
  await t.rejects(talk.ask('Leave', [{}], { signal: AbortSignal.abort(left) }), left)
  t.strictSame(await talk.kept(), [
    ['turn_1', 'failed', ['user: Count']],
    ['turn_2', 'cancelled', ['user: Leave']]
  ])
  await talk.ask('Again', [{ text: 'One.' }])
  t.strictSame(talk.seen, [['user: Again']])
  t.strictSame(await talk.remembered(), ['user: Again', 'assistant: One.'])
})

t.test('what the tools of a failed turn did is kept with it, marked, and not recalled', async t => {
  const talk = await aConversation(t, { recall: 'all' })
  const broken = new GatewayError('upstream_disconnected', 'It broke.')
  const script = [{ text: 'Let me look.', calls: [stock('c1'), stock('c2', 'BX-2')] }, { error: broken }]
  await t.rejects(talk.ask('Count', script), broken)
  t.strictSame(await talk.kept(), [
    [
      'turn_1',
      'failed',
      [
        'user: Count',
        'assistant: Let me look. <c1 stock> <c2 stock>',
        'result c1: {"of":"BX-1"}',
        'result c2: {"of":"BX-2"}'
      ]
    ]
  ])
  t.strictSame(await talk.remembered(), [])
})

t.test('a client that leaves loses nothing of what ran; a call that never ran has a result too', async t => {
  const talk = await aConversation(t)
  const left = new GatewayError('client_closed', 'Gone.')
  const leaving = (type: string, round: number) => {
    const client = new AbortController()
    const tell = (event: TurnEvent) => {
      if (event.type === type && 'round' in event && event.round === round) client.abort(left)
    }
    return { signal: client.signal, tell, policy: { ...aPolicy, memory: talk.policy, maxParallel: 1 } }
  }
  const two = { calls: [stock('c1'), stock('c2', 'BX-2')] }
  await t.rejects(talk.ask('In a batch', [two, { text: 'never' }], leaving('tool.end', 1)), left)
  await t.rejects(talk.ask('In round two', [{ calls: [stock('c1')] }, two], leaving('round.end', 2)), left)
  const [inBatch, inRoundTwo] = (await talk.kept()).map(([_id, ...rest]) => rest)
  const first = 'result c1: {"of":"BX-1"}'
  t.strictSame(inBatch, [
    'cancelled',
    ['user: In a batch', 'assistant: <c1 stock> <c2 stock>', first, 'result c2: (not answered)']
  ])
  t.strictSame(inRoundTwo?.[1].slice(0, 3), ['user: In round two', 'assistant: <c1 stock>', first])
  t.equal(inRoundTwo?.[1].filter(each => each.endsWith('(not answered)')).length, 2)
})

t.test('a turn that went on and failed keeps what it did beside the turn that still waits', async t => {
  const talk = await aConversation(t)
  await talk.ask('Show', [{ calls: [screen('s1')] }])
  const broken = new GatewayError('upstream_disconnected', 'It broke.')
  const results = [{ user: 'Show' }, { assistant: '', calls: [screen('s1')] }, { tool: 'seen', of: 's1' }]
  await t.rejects(talk.ask(results, [{ calls: [stock('c1')] }, { error: broken }]), broken)
  const [waits, failed] = await talk.kept()
  t.strictSame(waits, ['turn_1', 'awaiting_client', ['user: Show', 'assistant: <s1 screen>']])
  t.strictSame(failed?.slice(1), ['failed', ['assistant: <c1 stock>', 'result c1: {"of":"BX-1"}']])
  await talk.ask(results, [{ text: 'Done.' }])
  t.strictSame((await talk.kept()).at(-1)?.[2].at(-1), 'assistant: Done.')
})

t.test(
  'two requests that answer the same open turn at once: one is kept, the other is told and kept as failed',
  async t => {
    const talk = await aConversation(t)
    await talk.ask('Show', [{ calls: [screen('s1')] }])
    const results = [{ user: 'Show' }, { assistant: '', calls: [screen('s1')] }, { tool: 'seen', of: 's1' }]
    const script = [{ calls: [stock('c1')] }, { text: 'Done.' }]
    const ends = await Promise.allSettled([talk.ask(results, script), talk.ask(results, script)])
    t.match(
      ends.filter(({ status }) => status === 'rejected'),
      [{ reason: { code: 'session_busy' } }]
    )
    const kept = await talk.kept()
    t.strictSame(kept.map(([_id, status]) => status).sort(), ['completed', 'failed'])
    t.equal(kept.flatMap(([_id, _status, lines]) => lines).filter(each => each === 'user: Show').length, 1)
  }
)

t.test('a session that was deleted while a turn ran in it stays deleted; the answer is given', async t => {
  const talk = await aConversation(t)
  await talk.ask('Earlier', [{ text: 'Yes.' }])
  const session = { id: 's1', key: 'session-key-1', named: true, branch: 'main', since: performance.now() }
  let deleted: Promise<boolean> | undefined
  const tell = ({ type }: TurnEvent) => {
    if (type === 'tool.end') deleted = talk.stores.sessions.delete(session.key)
  }
  const answer = await talk.ask('Secret', [{ calls: [stock('c1')] }, { text: 'Done.' }], { session, tell })
  t.equal(answer.message.content, 'Done.')
  t.equal(await deleted, true)
  t.equal(await talk.stores.sessions.get(session.key), undefined)
})
