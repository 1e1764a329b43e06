import t from 'tap'
import { audit } from '../../src/advisors/audit.ts'
import { meter } from '../../src/advisors/meter.ts'
import { retry } from '../../src/advisors/retry.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { advised } from '../../src/core/turn.ts'
import { aTurn, listener, scripted, silent, toolbox } from '../helper/turn.ts'

const busy = (detail = {}) => new GatewayError('upstream_overloaded', 'Busy.', detail)
const quick = retry({ maxRetries: 2, minMs: 0, maxMs: 1 })

t.test('a passing failure before anything was seen is tried again, at most max_retries times', async t => {
  const good = scripted([{ error: busy() }, { error: busy() }, { text: 'ok' }])
  t.equal((await advised(good, quick)(aTurn())).message.content, 'ok')
  const bad = scripted([{ error: busy() }, { error: busy() }, { error: busy() }, { text: 'never' }])
  await t.rejects(advised(bad, quick)(aTurn()), { code: 'upstream_overloaded' })
  t.equal(bad.seen.length, 3)
})

t.test('once the client has seen a piece nothing is tried again', async t => {
  const { emit } = listener()
  const model = scripted([{ text: 'half', error: busy(), errorAfter: 4 }, { text: 'never' }])
  await t.rejects(advised(model, quick)(aTurn({ emit })), { code: 'upstream_overloaded' })
  t.equal(model.seen.length, 1)
})

t.test('a piece of a call was seen, unless the loop holds calls back', async t => {
  for (const callsAreHeld of [true, false, undefined]) {
    const { emit } = listener()
    let attempts = 0
    const answer = advised(async turn => {
      attempts++
      await turn.emit?.({ type: 'call', index: 0, id: 'c1', name: 'stock', arguments: '{' })
      if (attempts === 1) throw busy()
      return scripted([{ text: 'ok' }])(turn)
    }, quick)({ ...aTurn({ emit }), ...(callsAreHeld !== undefined && { callsAreHeld }) })
    if (callsAreHeld) t.equal((await answer).message.content, 'ok')
    else await t.rejects(answer, { code: 'upstream_overloaded' })
    t.equal(attempts, callsAreHeld ? 2 : 1)
  }
})

t.test('a failure that another attempt cannot mend is passed on at once', async t => {
  const model = scripted([{ error: new GatewayError('upstream_rejected', 'No.') }])
  await t.rejects(advised(model, quick)(aTurn()), { code: 'upstream_rejected' })
  t.equal(model.seen.length, 1)
})

t.test('retry-after is honoured, but not for longer than the cap', async t => {
  const at = Date.now()
  await advised(scripted([{ error: busy({ retryAfterMs: 60 }) }, {}]), quick)(aTurn())
  t.ok(Date.now() - at >= 55)
  const model = scripted([{ error: busy({ retryAfterMs: 60_000 }) }])
  await t.rejects(advised(model, quick)(aTurn()), { code: 'upstream_overloaded' })
})

t.test('the cap on retry-after says nothing of our own waits', async t => {
  const model = scripted([{ error: busy() }, { text: 'ok' }])
  const patient = retry({ maxRetries: 1, minMs: 20, maxMs: 30, maxRetryAfterMs: 1 })
  t.equal((await advised(model, patient)(aTurn())).message.content, 'ok')
})

t.test('a retry is told with the target of the attempt that failed', async t => {
  const turn = aTurn()
  const model = scripted([{ error: busy() }, { text: 'ok' }])
  await advised(async told => {
    const target = { provider: 'up', model: `big-${model.seen.length}` }
    told.tell({ type: 'attempt', round: 1, ...target, durationMs: 1, outcome: 'upstream_overloaded' })
    return model(told)
  }, quick)(turn)
  t.match(
    turn.told.filter(({ type }) => type !== 'attempt'),
    [{ type: 'retry', provider: 'up', model: 'big-0' }]
  )
  t.equal(turn.told.filter(({ type }) => type === 'attempt').length, 2, 'attempts are told on')
})

t.test('a client that leaves while we wait is not waited for', async t => {
  const client = new AbortController()
  const model = scripted([{ error: busy({ retryAfterMs: 10_000 }) }])
  const answer = advised(model, quick)(aTurn({ signal: client.signal }))
  setTimeout(() => client.abort(new Error('gone')), 10)
  await t.rejects(answer)
  t.equal(model.seen.length, 1)
})

t.test('what failed attempts are known to have used is added to the answer, or to the last error', async t => {
  const usage = { prompt: 5, completion: 0, total: 5 }
  const good = scripted([{ error: busy({ usage }) }, { text: 'ok', usage }])
  t.equal((await advised(good, quick)(aTurn())).usage?.total, 10)
  const bad = scripted([{ error: busy({ usage }) }, { error: busy({ usage }) }, { error: busy({ usage }) }])
  const error = await advised(bad, quick)(aTurn()).catch((reason: unknown) => reason)
  t.match(error, { detail: { usage: { total: 15 } } })
})

t.test('meter tells the usage of every model call, and says when it is an estimate', async t => {
  const told = async (entry: Parameters<typeof scripted>[0][number]) => {
    const { emit } = listener()
    const turn = aTurn({ emit }, 'x'.repeat(40))
    await advised(scripted([entry]), meter())(turn).catch(() => {})
    return turn.told.find(({ type }) => type === 'usage')
  }
  t.match(await told({ text: 'ok', usage: { prompt: 7, completion: 1, total: 8 } }), {
    usage: { total: 8 },
    estimated: false
  })
  t.match(await told({ text: 'eight ch' }), { usage: { prompt: 10, completion: 2, total: 12 }, estimated: true })
  t.match(await told({ text: 'eight ch', error: busy(), errorAfter: 8 }), { usage: { completion: 2 }, estimated: true })
  t.match(await told({ error: busy({ usage: { prompt: 5, completion: 0, total: 5 } }) }), {
    usage: { total: 5 },
    estimated: false
  })
  t.equal(await told({ error: busy() }), undefined, 'a call that was refused used nothing')
})

t.test('meter tells what the model was offered when a round starts', async t => {
  const turn = aTurn()
  const tools = toolbox({ b: async () => ({ content: '', status: 'ok' }), a: undefined })
  await advised(scripted([{}]), meter())({ ...turn, prompt: { ...turn.prompt, tools } })
  t.strictSame(turn.told[0], { type: 'round.start', round: 0, offered: ['b', 'a'] })
})

t.test('audit writes one line with names and figures, never a text', async t => {
  const lines: object[] = []
  const log = {
    ...silent,
    info: (fields: object) => void lines.push(fields),
    warn: (fields: object) => void lines.push(fields)
  }
  await advised(scripted([{ text: 'secret answer' }]), audit())(aTurn({ log }, 'secret question'))
  await advised(scripted([{ error: busy() }]), audit())(aTurn({ log })).catch(() => {})
  t.match(lines, [
    { event: 'turn.end', finish: 'stop', model: 'sim', key_id: 'dev', tools: [] },
    { event: 'turn.end', error: 'upstream_overloaded' }
  ])
  t.notMatch(JSON.stringify(lines), /secret/)
})

t.test('audit never writes a tool name that the model made up, and says why a turn was aborted', async t => {
  const lines: Record<string, unknown>[] = []
  const log = { ...silent, warn: (fields: object) => void lines.push(fields as Record<string, unknown>) }
  const why = [new GatewayError('client_closed', 'Gone.'), new GatewayError('upstream_timeout', 'Late.'), 'else']
  for (const reason of why) {
    const turn = aTurn({ log, signal: AbortSignal.abort(reason) })
    await advised(async ({ tell, signal }) => {
      const end = { type: 'tool.end', round: 1, index: 0, callId: 'c', attempts: 0, durationMs: 0 } as const
      tell({ ...end, tool: 'x'.repeat(100_000), status: 'refused', code: 'tool_not_found' })
      tell({ ...end, tool: 'stock', kind: 'builtin', status: 'ok' })
      throw signal.reason
    }, audit())(turn).catch(() => {})
  }
  t.strictSame(
    lines.map(({ error }) => error),
    ['client_closed', 'upstream_timeout', 'aborted']
  )
  t.strictSame(lines[0]?.tools, ['unknown (tool_not_found)', 'stock'])
})
