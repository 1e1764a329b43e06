import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { GatewayError } from '../../src/core/errors.ts'
import type { LeaseWish } from '../../src/stores/leases-contract.ts'
import { SessionQueue } from '../../src/stores/session-queue.ts'

const wish = (more: Partial<LeaseWish> = {}): LeaseWish => ({
  ...{ mode: 'queue', waitMs: 60_000, signal: new AbortController().signal },
  ...more
})

t.test('a free session is had at once, and those that wait get it in order, one at a time', async t => {
  const queue = new SessionQueue()
  const first = queue.enter('s', wish())
  if (first instanceof Promise) throw new Error('it was free')
  const order: number[] = []
  let inside = 0
  const waiting = [1, 2, 3].map(async n => {
    const leave = await queue.enter('s', wish())
    t.equal(++inside, 1)
    order.push(n)
    await sleep(5)
    inside--
    leave()
  })
  t.type(queue.enter('other', wish()), 'function', 'another session is free')
  await sleep(10)
  t.same(order, [])
  first()
  first()
  await Promise.all(waiting)
  t.same(order, [1, 2, 3])
  t.type(queue.enter('s', wish()), 'function', 'and it is free again')
})

t.test('who does not want to wait, waits too long, or is one too many, is told session_busy', async t => {
  const queue = new SessionQueue()
  const leave = await queue.enter('s', wish())
  const busy = { code: 'session_busy', detail: { retryAfterMs: 1000 } }
  t.throws(() => queue.enter('s', wish({ mode: 'reject' })), busy)
  t.throws(() => queue.enter('s', wish({ waitMs: 0 })), busy)
  // The wait alone does not keep a process.
  const late = t.rejects(async () => queue.enter('s', wish({ waitMs: 20 })), busy)
  await Promise.all([late, sleep(100)])
  const waiting = Array.from({ length: 8 }, () => queue.enter('s', wish()))
  t.throws(() => queue.enter('s', wish()), { ...busy, message: /8 requests wait/ })
  leave()
  for (const each of waiting) (await each)()
  t.type(queue.enter('s', wish()), 'function')
})

t.test('who leaves while waiting gives its place to the next', async t => {
  const queue = new SessionQueue()
  const leave = await queue.enter('s', wish())
  const gone = new AbortController()
  const left = Promise.resolve(queue.enter('s', wish({ signal: gone.signal })))
  const next = queue.enter('s', wish())
  gone.abort(new GatewayError('client_closed', 'gone'))
  await t.rejects(left, { code: 'client_closed' })
  await t.rejects(async () => queue.enter('s', wish({ signal: gone.signal })), { code: 'client_closed' }, 'gone before')
  leave()
  ;(await next)()
  t.type(queue.enter('s', wish()), 'function')
})

t.test('at the end of the process nobody waits any more', async t => {
  const queue = new SessionQueue()
  const leave = await queue.enter('s', wish())
  const waiting = [1, 2].map(() => Promise.resolve(queue.enter('s', wish())))
  const refused = waiting.map(each => t.rejects(each, { code: 'shutting_down' }))
  queue.end(new GatewayError('shutting_down', 'stopping'))
  await Promise.all(refused)
  leave()
  t.type(queue.enter('s', wish()), 'function')
})
