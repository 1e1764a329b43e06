import t from 'tap'
import type { Fields, Tool } from '../../src/core/chat.ts'
import type { Run } from '../../src/core/turn.ts'
import { validArguments } from '../../src/tools/guards/arguments.ts'
import { admitSchema } from '../../src/tools/schema-admission.ts'
import { isCheckable, schemaCheck } from '../../src/tools/schema-check.ts'
import { aTurn } from '../helper/turn.ts'

const object = (properties: Fields, more: Fields = {}): Fields => ({ type: 'object', properties, ...more })
const nested = (levels: number): Fields => (levels === 0 ? {} : { type: 'array', items: nested(levels - 1) })
const reason = (schema: Fields): string | undefined => {
  try {
    admitSchema(schema, 'input_schema')
    return undefined
  } catch (error) {
    return (error as { detail: { reason: string } }).detail.reason
  }
}
const doubling = (levels: number): Fields => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: levels + 1 }, (_, n) => {
      const next = { $ref: `#/$defs/d${n + 1}` }
      return [`d${n}`, n === levels ? { type: 'string' } : { anyOf: [next, next] }]
    })
  )
})
const many = (n: number) =>
  object(Object.fromEntries(Array.from({ length: n }, (_, at) => [`p${at}`, { type: 'string' }])))
/** Recurs through two alternatives: the work doubles with each level of the value. */
const forked = object({}, { anyOf: [object({ a: { $ref: '#' } }), object({ a: { $ref: '#' } }, { required: ['a'] })] })

t.test('schemas that cannot be checked in bounded time are refused, with the reason', async t => {
  const rows: readonly [string, Fields, string][] = [
    ['remote reference', { $ref: 'http://169.254.169.254/schema.json' }, 'remote_ref'],
    ['reference to a file', object({ a: { $ref: 'other.json#/x' } }), 'remote_ref'],
    ["another tenant's $id", { $ref: 'https://x/t' }, 'remote_ref'],
    ['its own $id', { $id: 'https://x/t', properties: { a: { $ref: 'https://x/t' } } }, 'remote_ref'],
    ['$id below the root', object({ a: { $id: 'https://x/t', type: 'string' } }), 'remote_ref'],
    ['reference to nothing', { $ref: '#/$defs/none' }, 'unresolved_ref'],
    ['reference to a prototype', { $ref: '#/constructor' }, 'unresolved_ref'],
    ['reference to an anchor', { $ref: '#here', $defs: { a: { $anchor: 'here' } } }, 'unresolved_ref'],
    ['self reference', { $ref: '#' }, 'ref_cycle'],
    [
      'reference in a circle',
      { $ref: '#/$defs/a', $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } } },
      'ref_cycle'
    ],
    [
      'a circle beside the way',
      { $defs: { a: { not: { $ref: '#/$defs/a' } } }, properties: { x: { $ref: '#/$defs/a' } } },
      'ref_cycle'
    ],
    ['17 levels', nested(17), 'schema_depth'],
    ['5,000 levels', nested(5000), 'schema_depth'],
    ['65 levels of a constant', { const: JSON.parse('['.repeat(64) + ']'.repeat(64)) }, 'schema_depth'],
    ['2^20 ways', doubling(20), 'schema_complexity'],
    ['201 properties', many(201), 'schema_complexity'],
    ['5,000 properties', many(5000), 'schema_complexity'],
    [
      '1,001 schemas',
      { allOf: Array.from({ length: 10 }, () => ({ anyOf: Array.from({ length: 100 }, () => ({})) })) },
      'schema_complexity'
    ],
    ['recursion through two alternatives', forked, 'schema_complexity'],
    ['33 kB', object({ a: { description: 'x'.repeat(33_000) } }), 'schema_size'],
    ['look-ahead', object({ a: { pattern: '^(?=x)' } }), 'pattern_unsupported'],
    ['back reference', object({ a: { pattern: '(a)\\1' } }), 'pattern_unsupported'],
    ['pattern of a property name', { patternProperties: { '(?<!a)b': {} } }, 'pattern_unsupported'],
    ['long pattern', object({ a: { pattern: 'a'.repeat(257) } }), 'pattern_unsupported'],
    ['a pattern behind a reference', { $ref: '#/x', x: { pattern: '(?=a)' } }, 'pattern_unsupported'],
    ['unknown dialect', { $schema: 'https://json-schema.org/draft/2019-09/schema' }, 'schema_invalid'],
    ['no schema', { type: 'objekt' }, 'schema_invalid'],
    ['$async', { $async: true }, 'schema_invalid']
  ]
  for (const [name, schema, expected] of rows) {
    const started = performance.now()
    t.equal(reason(schema), expected, name)
    t.ok(performance.now() - started < 20_000, `${name}: at once`)
  }
})

t.test('ordinary schemas are let in', async t => {
  const tree = object({
    value: {},
    left: { $ref: '#' },
    right: { $ref: '#' },
    children: { type: 'array', items: { $ref: '#' } }
  })
  const rows: readonly [string, Fields][] = [
    ['16 levels', nested(15)],
    ['200 properties', many(200)],
    ['4,096 ways', doubling(11)],
    ['a tree', tree],
    [
      'draft-07',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        definitions: { a: { type: 'string' } },
        properties: { a: { $ref: '#/definitions/a' } }
      }
    ],
    ['escaped pointer', { properties: { a: { $ref: '#/$defs/a~1b%20c' } }, $defs: { 'a/b c': true } }],
    ['unknown keywords', object({ a: { type: 'string', 'x-log': true, id: 'old', format: 'date' } })],
    [
      'a property named as a keyword',
      object({ $async: { type: 'string' }, nullable: {}, pattern: { type: 'string' }, $ref: { type: 'string' } })
    ]
  ]
  for (const [name, schema] of rows) {
    t.equal(reason(schema), undefined, name)
    t.ok(isCheckable(schema), `${name} compiles`)
  }
  t.equal(schemaCheck(tree)({ left: { right: { children: [{ value: 1 }] } } }), undefined)
  t.match(schemaCheck(tree)({ left: { right: 3 } }), /^\/left\/right must be object/)
})

t.test('patterns are linear and never mixed up', async t => {
  for (const pattern of ['^(a+)+$', '^(a|a)*$']) {
    const schema = object({ a: { type: 'string', pattern } })
    const before = process.cpuUsage()
    t.match(schemaCheck(schema)({ a: `${'a'.repeat(20_000)}!` }), /must match pattern/, pattern)
    const ms = process.cpuUsage(before).user / 1000
    t.ok(ms < 5000, `${pattern}: ${ms} ms, compiling included`)
  }
  const both = schemaCheck(object({ a: { pattern: '^x' }, b: { pattern: '^y' } }))
  t.equal(both({ a: 'x', b: 'y' }), undefined)
  t.match(both({ a: 'y', b: 'y' }), /^\/a/)
  t.match(both({ a: 'x', b: 'x' }), /^\/b/)
})

t.test('what checking says, and what it does not stumble over', async t => {
  const rows: readonly [Fields, unknown, RegExp | undefined][] = [
    [object({ sku: { type: 'string' } }, { required: ['sku'] }), {}, /^must have required property 'sku'$/],
    [object({ n: { type: 'integer' } }), { n: 1.5 }, /^\/n must be integer$/],
    [object({ c: { enum: ['EUR', 'USD'] } }), { c: 'XXX' }, /^\/c must be one of \["EUR","USD"\]$/],
    [object({ c: { const: 1 } }), { c: 2 }, /^\/c must be 1$/],
    [object({}, { additionalProperties: false }), { x: 1 }, /^must not have the property "x"$/],
    [object({ p: { multipleOf: 0.01 } }), { p: 4.02 }, undefined],
    [object({}, { required: ['constructor'] }), {}, /constructor/],
    [
      object({ l: { uniqueItems: true } }),
      {
        l: [
          { a: 1, b: 2 },
          { b: 2, a: 1 }
        ]
      },
      /^\/l must not have the same item twice$/
    ],
    [object({ l: { uniqueItems: true } }), { l: [1, '1', [1], null, 'null'] }, undefined],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }, [1], /^\/0 must be string$/],
    [{ prefixItems: [{ type: 'string' }] }, [1], /^\/0 must be string$/],
    [object({ d: { format: 'date' } }), { d: 'tomorrow' }, undefined],
    [{ $id: 'https://x/t', properties: { a: { type: 'string' } } }, { a: 1 }, /^\/a/],
    [{ $id: 'https://x/t', properties: { a: { type: 'number' } } }, { a: 1 }, undefined]
  ]
  for (const [schema, value, expected] of rows) {
    const complaint = schemaCheck(schema)(value)
    if (expected === undefined) t.equal(complaint, undefined, JSON.stringify(schema))
    else t.match(complaint, expected, JSON.stringify(schema))
  }
  const unique = schemaCheck(object({ l: { type: 'array', uniqueItems: true } }))
  const before = process.cpuUsage()
  t.equal(unique({ l: Array.from({ length: 8000 }, (_, n) => ({ n, a: `item ${n}` })) }), undefined)
  // Of CPU: other tests run beside.
  const ms = process.cpuUsage(before).user / 1000
  t.ok(ms < 2000, `8,000 objects: ${ms} ms`)
})

t.test('a call reaches its tool only with arguments that fit, written anew', async t => {
  const sent: string[] = []
  const run: Run = async call => {
    sent.push(call.arguments)
    return { content: 'ran', status: 'ok' }
  }
  const parameters = object({ amount: { type: 'integer' }, deep: {} }, { required: ['amount'] })
  const tool = { name: 'pay', kind: 'webhook' as const, parameters, run }
  const search = { name: 'find', kind: 'builtin' as const, parameters: object({ n: { type: 'integer' } }), run }
  const prompt = {
    ...aTurn().prompt,
    tools: new Map<string, Tool>([
      ['pay', tool],
      ['find', search]
    ])
  }
  const call = (args: string, name = 'pay') =>
    validArguments.guard({ id: 'c', name, arguments: args }, aTurn({ prompt }), run)

  t.match(await call('{"amount":1,"amount":1000000}'), { status: 'ok' })
  t.match(await call(' {"amount": 9007199254740993} '), { status: 'ok' })
  t.match(await call('"{\\"amount\\":2}"'), { status: 'ok' })
  t.match(await call('{"n":"7"}', 'find'), { status: 'ok' }, 'a builtin reads its arguments as it likes')
  t.strictSame(sent, ['{"amount":1000000}', '{"amount":9007199254740993}', '{"amount":2}', '{"n":"7"}'])

  const refused = { status: 'refused', code: 'tool_args_invalid' }
  for (const args of [
    '{"amount":"x"}',
    '',
    '{"amount":1e400}',
    '[1]',
    '{"q":"hel',
    `${'{"deep":'.repeat(20_000)}1${'}'.repeat(20_000)}`
  ]) {
    const result = await call(args)
    t.match(result, refused, args.slice(0, 30))
    t.ok((result.content as string).length <= 1000)
  }
  t.match(await call('{"amount":"x"}'), { content: 'The arguments of pay were not accepted: /amount must be integer.' })
  t.equal(sent.length, 4)
})
