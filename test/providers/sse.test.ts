import t from 'tap'
import { SseReader } from '../../src/providers/sse.ts'

interface Heard {
  data: string
  name: string | undefined
}

async function read(chunks: readonly Buffer[], end = true): Promise<Heard[]> {
  const heard: Heard[] = []
  const reader = new SseReader((data, name) => {
    heard.push({ data, name })
    return undefined
  })
  for (const chunk of chunks) await reader.write(chunk)
  if (end) await reader.end()
  return heard
}

const datas = (heard: readonly Heard[]): string[] => heard.map(({ data }) => data)

const STREAMS: Record<string, { text: string; events: string[] }> = {
  'LF line ends': { text: 'data: a\n\ndata: b\n\n', events: ['a', 'b'] },
  'CR LF line ends': { text: 'data: a\r\n\r\ndata: b\r\n\r\n', events: ['a', 'b'] },
  'CR line ends': { text: 'data: a\r\rdata: b\r\r', events: ['a', 'b'] },
  'mixed line ends': { text: 'data: a\r\n\ndata: b\r\rdata: c\n\r\n', events: ['a', 'b', 'c'] },
  'no space after the colon': { text: 'data:a\n\ndata:b\n\n', events: ['a', 'b'] },
  'only one space is dropped': { text: 'data:  a\n\n', events: [' a'] },
  'data lines joined by LF': { text: 'data: {"a":\ndata: 1}\n\n', events: ['{"a":\n1}'] },
  'data lines that end in CR LF': { text: 'data: a\r\ndata: b\r\n\r\n', events: ['a\nb'] },
  comments: { text: ': x\n\n: y\ndata: a\n: inside\n\n:\n\ndata: b\n\n', events: ['a', 'b'] },
  'frames without data': { text: 'retry: 3\n\nid: 1\n\nevent: ping\n\ndata:\n\ndata\n\ndata: a\n\n', events: ['a'] },
  'fields nobody knows': { text: 'foo: bar\nid: 2\ndatum: z\ndata: a\nmore\n\n', events: ['a'] },
  'a colon in the data': { text: 'data: {"a":"b:c"}\n\n', events: ['{"a":"b:c"}'] },
  'a byte order mark, once': { text: '\ufeffdata: a\n\ndata: \ufeffb\n\n', events: ['a', '\ufeffb'] },
  'characters of several bytes': { text: 'data: é€北京🌍\n\n', events: ['é€北京🌍'] },
  'an end without a blank line': { text: 'data: a\n\ndata: b', events: ['a', 'b'] }
}

t.test('sse: the same events wherever the bytes are cut', async t => {
  for (const [title, { text, events }] of Object.entries(STREAMS)) {
    const bytes = Buffer.from(text)
    t.same(datas(await read([bytes])), events, title)
    t.same(datas(await read(Array.from(bytes, byte => Buffer.from([byte])))), events, `${title}, byte by byte`)
    for (let at = 1; at < bytes.length; at++) {
      const heard = datas(await read([bytes.subarray(0, at), bytes.subarray(at)]))
      if (JSON.stringify(heard) !== JSON.stringify(events)) t.same(heard, events, `${title}, cut at ${at}`)
    }
  }
})

t.test('sse: the name of an event goes with its data and not with the next', async t => {
  t.same(await read([Buffer.from('event: error\ndata: a\n\ndata: b\n\n')]), [
    { data: 'a', name: 'error' },
    { data: 'b', name: undefined }
  ])
})

t.test('sse: what is pending is an event only after a clean end', async t => {
  t.same(await read([Buffer.from('data: a\n\ndata: b\n')], false), [{ data: 'a', name: undefined }])
})

t.test('sse: waits for its taker before the next event of the same bytes', async t => {
  const gates: (() => void)[] = []
  const heard: string[] = []
  const reader = new SseReader(data => {
    heard.push(data)
    return new Promise(resolve => gates.push(() => resolve(undefined)))
  })
  const written = reader.write(Buffer.from('data: a\n\ndata: b\n\n'))
  t.same(heard, ['a'])
  gates[0]?.()
  await new Promise(setImmediate)
  t.same(heard, ['a', 'b'])
  gates[1]?.()
  t.equal(await written, undefined)
})

t.test('sse: nothing is read after the taker has had enough', async t => {
  const heard: string[] = []
  const reader = new SseReader(data => {
    heard.push(data)
    return data === 'b' ? false : undefined
  })
  t.equal(reader.write(Buffer.from('data: a\n\ndata: b\n\ndata: c\n\n')), false)
  t.same(heard, ['a', 'b'])

  const slow = new SseReader(async data => (data === 'b' ? false : undefined))
  t.equal(await slow.write(Buffer.from('data: a\n\ndata: b\n\ndata: c\n\n')), false)
})

t.test('sse: an event without an end is refused before it fills the memory', async t => {
  const reader = new SseReader(() => undefined)
  const part = Buffer.alloc(16 * 1024 * 1024, 120)
  t.throws(() => {
    for (let n = 0; n < 5; n++) void reader.write(part)
  }, RangeError)
})
