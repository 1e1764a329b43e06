/** What providers fail with, and what a client is told of it: contract §12. */
import t from 'tap'
import { ask, body, head, streamed } from './ask.ts'
import { chunk, DONE, event } from './scripted-server.ts'

const INSIDE: [title: string, said: unknown, code: string, status: number, message?: RegExp, transient?: boolean][] = [
  ['an object', { error: { message: 'boom', code: null } }, 'upstream_error', 502, /boom/, true],
  ['a text', { error: 'boom' }, 'upstream_error', 502, /boom/],
  ['its own status', { error: { message: 'bad field', code: 400 } }, 'upstream_rejected', 400, /bad field/, false],
  ['a status as text', { error: { message: 'bad', code: '422' } }, 'upstream_rejected', 422, /bad/],
  [
    'vendor fields',
    { choices: null, error_message: 'input too long', error_code: 400 },
    'upstream_rejected',
    400,
    /too long/
  ],
  ['too many requests', { error: { message: 'slow', status: 429 } }, 'upstream_rate_limited', 429, /slow/, true],
  ['our key', { error: { message: 'key sk-abcdefgh', code: 401 } }, 'upstream_credentials', 502, /credentials/, false],
  ['its overload', { error: { message: 'SECRET', code: 503 } }, 'upstream_overloaded', 503, /overloaded/, true],
  ['in the choice', { choices: [{ index: 0, error: { message: 'cut', code: 502 } }] }, 'upstream_error', 502],
  [
    'too long a prompt',
    { error: { message: 'x', code: 'context_length_exceeded', status: 400 } },
    'context_length_exceeded',
    400
  ]
]

t.test('an error inside a 200 has the status that it says, in streams and bodies alike', async t => {
  for (const [title, said, code, status, message = /./, transient] of INSIDE) {
    for (const outcome of [
      await ask(streamed(': hb\n\n', event(said), DONE)),
      await ask(body(said), { stream: false })
    ]) {
      t.match(outcome.error, { code, status }, title)
      t.match(outcome.error?.message, message, title)
      t.notMatch(outcome.error?.message, /SECRET|sk-/, title)
      if (transient !== undefined) t.equal(outcome.error?.transient, transient, title)
    }
  }
  t.equal(
    (await ask(streamed('event: error\ndata: out of order\n\n'))).error?.code,
    'upstream_error',
    'by its name alone'
  )
  const later = await ask(streamed(head, chunk({ content: 'hal' }), event({ error: { message: 'boom' } }), DONE))
  t.equal(later.text, 'hal')
  t.match(later.error, { code: 'upstream_error', message: 'boom' })
})

t.test('a field that the upstream names is passed on; a None of a server in Python names none', async t => {
  const refused = (param: string) => ask({ status: 400, chunks: [`{"error":{"message":"no","param":"${param}"}}`] })
  t.equal((await refused('temperature')).error?.detail.param, 'temperature')
  t.equal((await refused('None')).error?.detail.param, undefined)
})

const FAILURES: [status: number, body: string, code: string, want: number, transient: boolean, message?: RegExp][] = [
  [
    400,
    '{"error":{"message":"bad \\u0000 temperature","param":"temperature","code":"invalid_value"}}',
    'upstream_rejected',
    400,
    false,
    /^bad temperature$/
  ],
  [
    400,
    '{"error":{"message":"maximum context length is 8 tokens","code":null}}',
    'context_length_exceeded',
    400,
    false
  ],
  [
    404,
    '{"error":{"message":"no model at https://10.0.0.1/v1 for sk-abcdef123"}}',
    'upstream_rejected',
    404,
    false,
    /^no model at \[url\] for \[id\]$/
  ],
  [413, '<html>too large</html>', 'upstream_rejected', 413, false, /status 413/],
  [
    422,
    '{"detail":[{"msg":"field required"},{"msg":"too short"}]}',
    'upstream_rejected',
    422,
    false,
    /field required; too short/
  ],
  [401, '{"error":{"message":"Incorrect API key"}}', 'upstream_credentials', 502, false, /operator/],
  [402, '', 'upstream_credentials', 502, false],
  [403, '', 'upstream_credentials', 502, false],
  [408, '', 'upstream_error', 502, true],
  [409, '', 'upstream_error', 502, true],
  [405, '', 'upstream_error', 502, false],
  [302, '', 'upstream_error', 502, false],
  [
    429,
    '{"error":{"message":"slow down","code":"rate_limit_exceeded"}}',
    'upstream_rate_limited',
    429,
    true,
    /slow down/
  ],
  [500, '{"error":{"message":"SECRET"}}', 'upstream_error', 502, true, /status 500/],
  [502, '<html><h1>502</h1></html>', 'upstream_error', 502, true],
  [503, 'SECRET', 'upstream_overloaded', 503, true],
  [529, '', 'upstream_overloaded', 503, true],
  [504, '', 'upstream_error', 502, true]
]

t.test('statuses of a provider become errors of ours', async t => {
  for (const [status, text, code, want, transient, message = /./] of FAILURES) {
    for (const transport of ['http', 'sdk'] as const) {
      // The package follows redirects, and keeps of a body only `error`.
      if (transport === 'sdk' && (status < 400 || text.includes('detail'))) continue
      const { error, told } = await ask(
        { status, headers: { 'content-type': 'text/plain' }, chunks: [text || ' '] },
        { transport }
      )
      t.match(
        error,
        { code, status: want, transient, detail: { provider: 'up', upstreamStatus: status } },
        `${status} by ${transport}`
      )
      t.match(error?.message, message, `${status} by ${transport}`)
      t.notMatch(error?.message, /SECRET|html|sk-/, `${status} by ${transport}`)
      t.match(told, [{ type: 'attempt.start' }, { type: 'attempt', status, outcome: code }])
    }
  }
  for (const transport of ['http', 'sdk'] as const) {
    const deep = `{"error":{"message":"m","odd":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`
    const refused = await ask(
      { status: 400, headers: { 'content-type': 'application/json' }, chunks: [deep] },
      { transport }
    )
    t.match(refused.error, { code: 'upstream_rejected', status: 400 }, `nested deeply, by ${transport}`)
  }
  const { error } = await ask({
    status: 400,
    chunks: ['{"error":{"message":"m","param":"temperature","code":"invalid_value"}}']
  })
  t.match(error?.detail, { shownCode: 'invalid_value', param: 'temperature' })
  const numeric = await ask({ status: 400, chunks: ['{"error":{"message":"m","code":"400"}}'] })
  t.equal(numeric.error?.detail.shownCode, undefined, 'a number is no word')
})

t.test('the wait that a provider asks for is kept', async t => {
  const wait = async (headers: Record<string, string>, status = 429): Promise<number | undefined> =>
    (await ask({ status, headers, chunks: ['{}'] })).error?.detail.retryAfterMs
  t.equal(await wait({ 'retry-after': '7' }), 7000)
  t.equal(await wait({ 'retry-after-ms': '250', 'retry-after': '7' }), 250)
  t.equal(await wait({ 'retry-after': '7' }, 503), 7000)
  const inTen = await wait({ 'retry-after': new Date(Date.now() + 10_000).toUTCString() })
  t.ok(inTen !== undefined && inTen > 3000 && inTen <= 10_000)
  t.equal(await wait({ 'retry-after': 'soon' }), undefined)
})

t.test('an error whose body breaks off is still that error', async t => {
  const { error } = await ask({ status: 429, headers: { 'retry-after': '3' }, chunks: ['{"err'], end: 'reset' })
  t.match(error, { code: 'upstream_rate_limited', detail: { retryAfterMs: 3000 } })
})
