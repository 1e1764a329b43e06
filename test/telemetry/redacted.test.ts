import { Writable } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { redacted, withCleanHeaders } from '../../src/telemetry/redacted.ts'

t.test('a log line has no key, cookie or text, whatever was handed to it', async t => {
  let text = ''
  const out = new Writable({
    write(chunk, _, done) {
      text += chunk
      done()
    }
  })
  const serializers = { err: (error: Error) => withCleanHeaders(pino.stdSerializers.err(error)) }
  const log = pino({ base: null, formatters: { log: redacted }, serializers }, out)
  const headers = { Authorization: 'no', 'x-api-key': 'no', accept: 'yes' }
  const fields = { api_key: 'no', messages: ['no'], content: 'no', tool: 'yes' }
  log.info({ ...fields, headers, req: { url: '/yes', headers }, err: Object.assign(new Error('yes'), { headers }) })
  t.notMatch(text, /"no"/)
  t.match(JSON.parse(text), {
    ...{ api_key: '[Redacted]', messages: '[Redacted]', content: '[Redacted]', tool: 'yes' },
    headers: { Authorization: '[Redacted]', 'x-api-key': '[Redacted]', accept: 'yes' },
    req: { url: '/yes', headers: { accept: 'yes' } },
    err: { message: 'yes', headers: { Authorization: '[Redacted]', accept: 'yes' } }
  })
})

t.test('a line with nothing to hide is not copied', async t => {
  const fields = { event: 'turn.end', req: { headers: { accept: 'a' } } }
  t.equal(redacted(fields), fields)
  t.same(fields, { event: 'turn.end', req: { headers: { accept: 'a' } } })
})
