import t from 'tap'
import type { Fields, Tool, ToolCall } from '../../src/core/chat.ts'
import { augmented } from '../../src/tools/augment.ts'
import { admitAugment } from '../../src/tools/augment-admission.ts'
import { augmentedSchema } from '../../src/tools/augment-schema.ts'
import type { AugmentField } from '../../src/tools/definition.ts'
import { validArguments } from '../../src/tools/guards/arguments.ts'
import { admitSchema } from '../../src/tools/schema-admission.ts'
import { schemaCheck } from '../../src/tools/schema-check.ts'
import { aTurn } from '../helper/turn.ts'

const field = (name: string, more: Partial<AugmentField> = {}): AugmentField => ({
  ...{ name, schema: { type: 'string' }, required: true, forward: false },
  ...more
})
const thought = field('innerThought', { description: 'Why you call this tool' })
const stock: Fields = { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] }

/** A tool that keeps the arguments it was called with. */
function aTool(more: Partial<Tool> = {}): Tool & { readonly got: string[] } {
  const got: string[] = []
  return {
    ...{ name: 'stock_level', description: 'Units of an article', parameters: stock, kind: 'webhook', got },
    run: async ({ arguments: text }) => {
      got.push(text)
      return { content: '17', status: 'ok' }
    },
    ...more
  }
}

/** Calls the tool as the loop does: its arguments are checked first. */
async function called(tool: Tool, text: string) {
  const turn = aTurn()
  const call: ToolCall = { id: 'call_1', name: tool.name, arguments: text }
  const offered = { ...turn, prompt: { ...turn.prompt, tools: new Map([[tool.name, tool]]) } }
  return validArguments.guard(call, offered, async (checked, at) => {
    if (tool.run === undefined) throw new Error('not to be run')
    return tool.run(checked, at)
  })
}

t.test('a tool that is asked more of keeps its name, its description and every other property', async t => {
  const annotations = { readOnly: true }
  const tool = aTool({ group: 'stock', sequential: true, version: 3, maxCallsPerTurn: 2, annotations })
  const { parameters, run, augment, ...rest } = augmented({ ...tool, returnDirect: true } as Tool, [thought])
  const { parameters: own, run: _, ...same } = tool
  t.strictSame(rest, { ...same, returnDirect: true })
  t.strictSame(augment, { own, fields: ['innerThought'] })
  t.equal(typeof run, 'function')
  t.not(parameters, own)
})

t.test('a tool with no field to add stays the very same', async t => {
  const tool = aTool()
  t.equal(augmented(tool, []), tool)
})

t.test('the tool is called without the fields, whoever listens', async t => {
  const tool = aTool()
  const result = await called(augmented(tool, [thought]), '{"innerThought":"I need it","sku":"BX-1"}')
  t.equal(result.content, '17')
  t.strictSame(tool.got, ['{"sku":"BX-1"}'])
})

t.test('a field to be forwarded reaches the tool with its own arguments, the others do not', async t => {
  const tool = aTool()
  const asked = augmented(tool, [thought, field('reason', { forward: true })])
  await called(asked, '{"sku":"BX-1","innerThought":"I need it","reason":"asked"}')
  t.strictSame(tool.got, ['{"sku":"BX-1","reason":"asked"}'])
})

t.test('a tool that takes no other properties can be asked more of, also where the value is forwarded', async t => {
  const tool = aTool({ parameters: { ...stock, additionalProperties: false } })
  const text = '{"sku":"BX-1","innerThought":"I need it"}'
  t.equal((await called(augmented(tool, [thought]), text)).status, 'ok')
  t.equal((await called(augmented(tool, [field('innerThought', { forward: true })]), text)).status, 'ok')
  t.strictSame(tool.got, ['{"sku":"BX-1"}', text])
})

t.test('a call is not refused for a field that is missing, null or of another type', async t => {
  const tool = aTool()
  const asked = augmented(tool, [thought])
  for (const given of ['', ',"innerThought":null', ',"innerThought":17', ',"innerThought":{"a":[1]}']) {
    t.equal((await called(asked, `{"sku":"BX-1"${given}}`)).status, 'ok', given)
  }
  t.strictSame(new Set(tool.got), new Set(['{"sku":"BX-1"}']))
})

t.test("a call is refused by the tool's own schema as ever, and the complaint says nothing of the fields", async t => {
  const tool = aTool()
  const refused = await called(augmented(tool, [thought]), '{"innerThought":"I need it"}')
  t.match(refused, { status: 'refused', code: 'tool_args_invalid', content: /must have required property 'sku'/ })
  t.match(await called(augmented(tool, [thought]), '{"innerThought":'), { code: 'tool_args_invalid' })
  t.strictSame(tool.got, [])
})

t.test('only the fields at the top are taken away; numbers beside them keep all their digits', async t => {
  const tool = aTool({ parameters: { type: 'object' } })
  await called(
    augmented(tool, [thought]),
    '{"innerThought":9007199254740993,"a":{"innerThought":12345678901234567890}}'
  )
  t.strictSame(tool.got, ['{"a":{"innerThought":12345678901234567890}}'])
})

t.test('a tool that declared no arguments gets a schema with the fields, and is called with what is left', async t => {
  const { parameters: _, ...bare } = aTool()
  const asked = augmented(bare, [thought])
  t.strictSame(asked.parameters, {
    type: 'object',
    properties: { innerThought: { type: 'string', description: 'Why you call this tool' } },
    required: ['innerThought']
  })
  t.strictSame(asked.augment, { fields: ['innerThought'] })
  t.equal((await called(asked, '{"innerThought":"I need it","any":1}')).status, 'ok')
  t.strictSame(bare.got, ['{"any":1}'])
})

t.test('the fields stand at the end of the properties, and of the required ones those that are', async t => {
  const shown = augmentedSchema(stock, [thought, field('confidence', { schema: { type: 'number' }, required: false })])
  t.strictSame(Object.keys(shown.properties as Fields), ['sku', 'innerThought', 'confidence'])
  t.strictSame(shown.required, ['sku', 'innerThought'])
  t.strictSame(stock, { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] }, 'not changed')
})

t.test('optional fields alone make no list of required ones where there was none', async t => {
  const shown = augmentedSchema({ type: 'object' }, [field('note', { required: false })])
  t.strictSame(shown, { type: 'object', properties: { note: { type: 'string' } } })
})

t.test('a field without a description has none, and one that its schema has is kept', async t => {
  const described = { type: 'string', description: 'Of the schema' }
  t.strictSame(
    augmentedSchema(undefined, [field('a'), field('b', { description: '' }), field('c', { schema: described })]),
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' }, c: described },
      required: ['a', 'b', 'c']
    }
  )
  const both = augmentedSchema(undefined, [field('c', { schema: described, description: 'Of the field' })])
  t.match(both.properties, { c: { type: 'string', description: 'Of the field' } })
})

t.test('a schema without properties or without required ones gets what is missing', async t => {
  const noProperties = augmentedSchema({ type: 'object', required: ['sku'] }, [thought])
  t.match(noProperties, { properties: { innerThought: { type: 'string' } }, required: ['sku', 'innerThought'] })
  const noRequired = augmentedSchema({ type: 'object', properties: { sku: {} } }, [thought])
  t.match(noRequired, { properties: { sku: {}, innerThought: { type: 'string' } }, required: ['innerThought'] })
  t.match(augmentedSchema({}, [thought]), { type: 'object', required: ['innerThought'] })
})

t.test('a nested, listed or chosen value can be asked for', async t => {
  const schema = {
    type: 'object',
    properties: { steps: { type: 'array', items: { enum: ['look', 'count'] } } },
    required: ['steps']
  }
  const shown = augmentedSchema(stock, [field('plan', { schema })])
  t.strictSame((shown.properties as Fields).plan, schema)
})

t.test('every other keyword of the schema is kept', async t => {
  const own: Fields = {
    ...{ $schema: 'http://json-schema.org/draft-07/schema#', $id: 'urn:x', title: 'Stock', description: 'Of stock' },
    ...{ ...stock, additionalProperties: false, minProperties: 1, 'x-vendor': [1], $defs: { a: { type: 'null' } } },
    ...{ patternProperties: { '^x': {} }, dependentRequired: { sku: ['x'] }, anyOf: [{ required: ['sku'] }] }
  }
  const { properties, required, ...rest } = augmentedSchema(own, [thought])
  const { properties: _, required: _was, ...kept } = own
  t.strictSame(rest, kept)
  t.strictSame(required, ['sku', 'innerThought'])
})

t.test('alternatives that take no other properties still let the fields in, and stay apart as they were', async t => {
  const one = (kind: string, more: object = {}) => ({
    type: 'object',
    properties: { kind: { const: kind }, ...more },
    required: ['kind', ...Object.keys(more)],
    additionalProperties: false
  })
  const own = { oneOf: [one('a', { n: { type: 'integer' } }), { allOf: [one('b')] }], not: one('c') }
  const shown = augmentedSchema(own, [thought])
  const check = schemaCheck(shown)
  t.equal(check({ kind: 'a', n: 1, innerThought: 'why' }), undefined)
  t.equal(check({ kind: 'b', innerThought: 'why' }), undefined)
  t.ok(check({ kind: 'b', n: 1, innerThought: 'why' }), 'a property of another alternative')
  t.ok(check({ kind: 'a', n: 1 }), 'the field is asked for')
  t.strictSame(shown.not, own.not)
})

t.test('a schema that is one reference is shown with what it refers to and the fields', async t => {
  const own = { $ref: '#/$defs/order', $defs: { order: { ...stock, additionalProperties: false } } }
  const shown = augmentedSchema(own, [thought])
  t.equal(shown.$ref, undefined)
  t.match(shown, { properties: { sku: {}, innerThought: {} }, required: ['sku', 'innerThought'], $defs: own.$defs })
  t.equal(schemaCheck(shown)({ sku: 'BX-1', innerThought: 'I need it' }), undefined)
})

t.test('a schema that holds itself asks for the fields once a call, not at every inner place', async t => {
  const own = {
    type: 'object',
    properties: { name: { type: 'string' }, parts: { type: 'array', items: { $ref: '#' } }, default: { $ref: '#' } },
    required: ['name'],
    additionalProperties: false,
    examples: [{ $ref: '#' }]
  }
  const shown = augmentedSchema(own, [thought])
  admitSchema(shown, 'input_schema')
  const check = schemaCheck(shown)
  t.equal(check({ name: 'a', innerThought: 'why', parts: [{ name: 'b', parts: [{ name: 'c' }] }] }), undefined)
  t.match(check({ name: 'a', innerThought: 'why', parts: [{ name: 'b', innerThought: 'again' }] }), /innerThought/)
  t.match(check({ name: 'a', innerThought: 'why', default: { innerThought: 'again' } }), /name/)
  t.match(check({ name: 'a' }), /innerThought/)
  t.strictSame(shown.examples, [{ $ref: '#' }], 'an example only looks like a reference')
})

t.test('a reference inside the schema of a field leads to where the field stands', async t => {
  const schema = {
    ...{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
    ...{ properties: { first: { $ref: '#/$defs/step' } }, $defs: { step: { type: 'integer' } } }
  }
  const shown = augmentedSchema(stock, [field('plan', { schema })])
  admitSchema(shown, 'input_schema')
  t.equal(schemaCheck(shown)({ sku: 'a', plan: { first: 1 } }), undefined)
  t.match(schemaCheck(shown)({ sku: 'a', plan: { first: 'x' } }), /integer/)
})

t.test('a field with the name of an argument is refused, wherever the schema names it', async t => {
  const clash = { code: 'tool_rejected', detail: { param: 'augment', reason: 'augment_clash' } }
  for (const own of [
    { properties: { innerThought: {} } },
    { required: ['innerThought'] },
    { anyOf: [{ type: 'object', properties: { innerThought: {} } }] },
    { $ref: '#/$defs/a', $defs: { a: { allOf: [{ properties: { innerThought: {} } }] } } }
  ]) {
    t.throws(() => admitAugment([thought], own), clash, JSON.stringify(own))
  }
  t.throws(() => admitAugment([thought], { properties: { innerThought: {} } }), /innerThought, which is an argument/)
  t.doesNotThrow(() => admitAugment([thought], { properties: { a: { properties: { innerThought: {} } } } }))
  t.doesNotThrow(() => admitAugment([], { properties: { innerThought: {} } }))
})

t.test('a field whose schema is none, or could not be checked in bounded time, is refused', async t => {
  const rejected = (schema: Fields, reason: string) =>
    t.throws(() => admitAugment([field('a', { schema })], stock), {
      code: 'schema_rejected',
      detail: { param: 'augment', reason }
    })
  rejected({ type: 'text' }, 'schema_invalid')
  rejected({ $ref: 'https://example.com/s.json' }, 'remote_ref')
  rejected({ $ref: '#/$defs/none' }, 'unresolved_ref')
  rejected({ description: 'x'.repeat(40_000) }, 'schema_size')
})
