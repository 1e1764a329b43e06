import t from 'tap'
import type { Fields } from '../../src/core/chat.ts'
import { outputJudge } from '../../src/tools/output-judge.ts'

const judge = (schema: Fields) => outputJudge({ type: 'json_schema', schema })

t.test('no more reasons are given than a model can use, and each once', async t => {
  const required = Array.from({ length: 40 }, (_, n) => `field_${n}`)
  t.equal(judge({ type: 'object', required })('{}').length, 5)
  const same = { anyOf: [{ type: 'integer' }, { type: 'integer' }] }
  t.strictSame(judge(same)('"x"'), ['must be integer', 'must match a schema in anyOf'])
  const long = judge({ type: 'object', additionalProperties: false })(JSON.stringify({ ['x'.repeat(5000)]: 1 }))
  t.equal(long[0]?.length, 300)
})

t.test('of a large answer the first reason is told', async t => {
  const items = judge({ type: 'array', items: { type: 'integer' } })
  t.equal(items(JSON.stringify(Array(3).fill('a'))).length, 3)
  t.strictSame(items(JSON.stringify(Array(9000).fill('a'))), ['/0 must be integer'])
})

t.test(
  'a schema and an answer that take minutes together are given up, and the next answer is judged as ever',
  async t => {
    const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)
    const costly = judge({
      type: 'array',
      items: { anyOf: keys.map((key, n) => ({ type: 'object', required: [key], properties: { [key]: { const: n } } })) }
    })
    const items = JSON.stringify(Array(100_000).fill({ k99: 99 }))
    t.strictSame(costly(items), ['it takes too long to check'])
    t.strictSame(costly('[{"k99":99}]'), [])
    t.equal(costly('[{"k99":1}]').length, 5)
  }
)

t.test(
  'the text of a schema decides whether it is known, not its object, and a key of ours in an answer is just one',
  async t => {
    const schema = () => ({ type: 'object', properties: { a: { const: 1 } } })
    t.equal(judge(schema())('{"a":1}').length, 0)
    t.strictSame(judge(schema())('{"a":2}'), ['/a must be 1'])
    t.strictSame(judge({ ...schema(), additionalProperties: false })('{"loopgateClock":true}').length, 1)
    t.strictSame(judge({ type: 'object', properties: { loopgateClock: { type: 'string' } } })('{"loopgateClock":1}'), [
      '/loopgateClock must be string'
    ])
  }
)

t.test('draft-07 and 2020-12 are spoken, and a text nested too deep is refused without being parsed', async t => {
  const $schema = 'http://json-schema.org/draft-07/schema#'
  t.strictSame(judge({ $schema, items: [{ type: 'string' }] })('[1]'), ['/0 must be string'])
  t.strictSame(judge({ prefixItems: [{ type: 'string' }] })('[1]'), ['/0 must be string'])
  t.strictSame(judge({})('['.repeat(100_000)), ['it is nested deeper than 64'])
})
