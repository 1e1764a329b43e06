import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { keptStream } from '../../src/http/kept-stream.ts'
import { StreamLog } from '../../src/http/stream-log.ts'
import { StreamLogs } from '../../src/http/stream-logs.ts'

const owner = { turnId: 'turn_1', tenant: 'default', keyId: 'key_1' }
const frame = (text: string) => `data: ${text}\n\n`

t.test('frames are numbered from 1, comments are not, and what comes after one is to be had', async t => {
  const log = new StreamLog(owner)
  t.equal(
    log.append(`${frame('a')}: ka\n\n${frame('b')}`),
    'id: turn_1:1\ndata: a\n\n: ka\n\nid: turn_1:2\ndata: b\n\n'
  )
  t.same(log.after(0), { frames: 'id: turn_1:1\ndata: a\n\nid: turn_1:2\ndata: b\n\n', last: 2, isOver: false })
  t.same(log.after(1), { frames: 'id: turn_1:2\ndata: b\n\n', last: 2, isOver: false })
  t.same(log.after(2), { frames: '', last: 2, isOver: false })
  log.end()
  t.same(log.after(2), { frames: '', last: 2, isOver: true })
})

t.test('an event keeps its name under its id', async t => {
  const log = new StreamLog(owner)
  t.equal(log.append('event: ping\ndata: {}\n\n'), 'id: turn_1:1\nevent: ping\ndata: {}\n\n')
})

t.test('a reader that waits hears of the next frames and of the end', async t => {
  const log = new StreamLog(owner)
  const first = log.changed()
  log.append(frame('a'))
  await first
  const second = log.changed()
  log.end()
  await second
  t.same(log.after(1), { frames: '', last: 1, isOver: true })
})

t.test('a part is bounded, and the end is told with the last one only', async t => {
  const log = new StreamLog(owner)
  for (let i = 0; i < 10; i++) log.append(frame('x'.repeat(20_000)))
  log.end()
  const seen: number[] = []
  for (let at = 0, isOver = false; !isOver; ) {
    const part = log.after(at)
    if (part === 'dropped') throw new Error('dropped')
    t.ok(part.frames.length < 100_000)
    at = part.last
    isOver = part.isOver
    seen.push(at)
  }
  t.same(seen, [4, 8, 10])
})

t.test('of too much the oldest frames go, and who asks for them is told', async t => {
  const log = new StreamLog(owner)
  for (let i = 0; i < 9; i++) log.append(frame('x'.repeat(1_000_000)))
  t.equal(log.after(0), 'dropped')
  const part = log.after(1)
  t.equal(part === 'dropped' ? part : part.last, 2)
})

t.test('a kept stream goes on where its connection is gone, and waits for one that reads slowly', async t => {
  const logs = new StreamLogs(1000)
  const log = logs.open(owner)
  const slow = Promise.resolve()
  const sent: string[] = []
  const there = keptStream(logs, log, {
    write: frames => {
      sent.push(frames)
      return slow
    },
    comment: () => {},
    end: frames => void sent.push(frames)
  })
  t.equal(there.write(frame('a')), slow)
  const gone = keptStream(logs, log, undefined)
  t.equal(gone.write(frame('b')), undefined)
  gone.end(frame('c'))
  t.same(sent, ['id: turn_1:1\ndata: a\n\n'])
  t.same(log.after(1), { frames: 'id: turn_1:2\ndata: b\n\nid: turn_1:3\ndata: c\n\n', last: 3, isOver: true })
})

t.test('the log of a turn is kept for a time after its end, and numbers go on with its next request', async t => {
  const logs = new StreamLogs(50)
  const log = logs.open(owner)
  log.append(frame('a'))
  logs.ended(log)
  t.equal(logs.get('turn_1'), log)
  const next = logs.open(owner)
  t.equal(next.append(frame('b')), 'id: turn_1:2\ndata: b\n\n')
  t.equal(next.after(0), 'dropped', 'what the earlier request was sent is not in it')
  await sleep(100)
  t.equal(logs.get('turn_1'), next, 'the end of the first does not take the second away')
  logs.ended(next)
  while (logs.get('turn_1')) await sleep(10)
})

t.test('of streams that have ended the oldest go when they are too many', async t => {
  const logs = new StreamLogs(60_000)
  for (let turn = 0; turn < 10; turn++) {
    const log = logs.open({ ...owner, turnId: `turn_${turn}` })
    for (let i = 0; i < 8; i++) log.append(frame('x'.repeat(1_000_000)))
    logs.ended(log)
  }
  t.equal(logs.get('turn_0'), undefined)
  t.equal(logs.get('turn_1'), undefined)
  t.ok(logs.get('turn_2'))
  t.ok(logs.get('turn_9'))
})
