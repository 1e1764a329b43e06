import t from 'tap'
import {
  argumentsWithout,
  canonicalArguments,
  parseArguments,
  replayableArguments,
  withoutFields
} from '../../src/core/arguments.ts'

const textOf = (source: string) => {
  const parsed = parseArguments(source)
  return parsed.ok ? parsed.text : parsed.reason
}

t.test('blank and null arguments mean an empty object', async t => {
  for (const blank of ['', ' \n', 'null', ' null ']) t.equal(textOf(blank), '{}')
})

t.test('a JSON string that holds an object is unwrapped once, and only once', async t => {
  t.equal(textOf('"{\\"sku\\":\\"BX-1\\"}"'), '{"sku":"BX-1"}')
  t.equal(textOf(JSON.stringify(JSON.stringify('{"a":1}'))), 'The arguments must be a JSON object.')
})

t.test('integers beyond 2^53 keep their digits, also in an unwrapped string', async t => {
  t.equal(
    textOf('{"id": 12345678901234567890, "n": [9007199254740993]}'),
    '{"id":12345678901234567890,"n":[9007199254740993]}'
  )
  t.equal(textOf('"{\\"id\\":9007199254740993}"'), '{"id":9007199254740993}')
})

t.test('the value for checking has ordinary numbers', async t => {
  const parsed = parseArguments('{"id":9007199254740993}')
  t.equal(parsed.ok && typeof parsed.value.id, 'number')
})

t.test('what is no object, too deep, not finite or broken is refused with the reason', async t => {
  t.match(textOf('[1]'), /must be a JSON object/)
  t.match(textOf('17'), /must be a JSON object/)
  t.match(textOf('{"a":1e400}'), /out of range/)
  t.match(textOf('{"a":{"b":[-1e999]}}'), /out of range/)
  t.match(textOf('{"a":'), /not valid JSON/)
  t.equal(textOf(`${'{"a":'.repeat(64)}1${'}'.repeat(64)}`).startsWith('{"a"'), true)
  t.match(textOf(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`), /deeper than 64/)
  t.match(textOf(`${'['.repeat(200_000)}${']'.repeat(200_000)}`), /deeper than 64/)
})

t.test('brackets inside strings are no nesting', async t => {
  t.equal(textOf(`{"a":"${'['.repeat(100)}\\""}`), `{"a":"${'['.repeat(100)}\\""}`)
})

t.test('the same arguments in another spelling have one canonical text; big integers stay apart', async t => {
  t.equal(canonicalArguments('{"b":1.0,"a":[{"d":1,"c":2}]}'), canonicalArguments(' {"a":[{"c":2,"d":1}],"b":1}'))
  t.equal(canonicalArguments(''), canonicalArguments('{}'))
  t.not(canonicalArguments('{"id":9007199254740993}'), canonicalArguments('{"id":9007199254740992}'))
  t.not(canonicalArguments('{"__proto__":1}'), canonicalArguments('{}'))
})

t.test('the model is shown its own text where that is an object, else an empty object', async t => {
  t.equal(replayableArguments('{"a": 1}'), '{"a": 1}')
  t.equal(replayableArguments(''), '{}')
  t.equal(replayableArguments('{"a":'), '{}')
  t.equal(replayableArguments('[1]'), '{}')
  t.equal(replayableArguments('"{\\"a\\":1}"'), '{"a":1}')
})

t.test('arguments without some of them are written anew, big integers with their digits', async t => {
  const text = '{"why": "x", "id": 12345678901234567890, "in": {"why": 1}}'
  t.equal(argumentsWithout(text, ['why', 'none']), '{"id":12345678901234567890,"in":{"why":1}}')
  t.equal(argumentsWithout(JSON.stringify(text), ['why']), '{"id":12345678901234567890,"in":{"why":1}}')
  t.equal(argumentsWithout('{ "a": 1 }', ['toString']), '{"a":1}', 'inherited names are no arguments')
  t.equal(argumentsWithout('', ['why']), '{}')
  t.equal(argumentsWithout('{"why":', ['why']), '{"why":', 'what cannot be read stays')
  t.equal(argumentsWithout('{"why":1,"__proto__":2}', ['why']), '{"__proto__":2}')
  const fields = { a: 1 }
  t.equal(withoutFields(fields, ['b']), fields, 'the very same when there is nothing to take away')
})

t.test('arguments that differ in what is left out only have one canonical text', async t => {
  const canonical = (text: string) => canonicalArguments(text, ['why'])
  t.equal(canonical('{"a":1,"why":"x"}'), canonical('{"why":{"y":2},"a":1.0}'))
  t.equal(canonical('{"a":1,"why":"x"}'), canonical('{"a":1}'))
  t.not(canonical('{"a":{"why":1}}'), canonical('{"a":{}}'), 'only at the top')
})
