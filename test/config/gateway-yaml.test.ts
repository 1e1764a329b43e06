import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfig } from '../../src/config/read.ts'
import { configSchema } from '../../src/config/schema.ts'

const FILE = 'config/gateway.yaml'

interface Shape {
  description?: string
  default?: unknown
  properties?: Record<string, Shape>
  items?: Shape
  anyOf?: Shape[]
}

const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Shape

/** The file with its example entries in use: `[]` in front of an indented comment is dropped, and so is the `#`. */
function withExamples(text: string): string {
  return text
    .replace(/^(\w+:) \[\]([^\n]*\n)(?=# {2,})/gm, '$1$2')
    .replace(/^#( {2,}[-\w ])/gm, '$1')
    .replace(/^ {3}npm [^\n]*\n/gm, '')
}

function missing(shape: Shape, value: unknown, path: string): string[] {
  if (shape.items?.properties) {
    return Array.isArray(value) && value.length > 0 ? missing(shape.items, value[0], `${path}[0]`) : []
  }
  return Object.entries(shape.properties ?? {}).flatMap(([key, inner]) => {
    const here = path === '' ? key : `${path}.${key}`
    const given = (value as Record<string, unknown> | undefined)?.[key]
    // Only differences from elsewhere have no default: `timeouts` of a provider, `tool_defaults`.
    if (given === undefined && inner.default === undefined && !path.includes('[0]')) return []
    if (path === 'providers[0].timeouts' || path === 'providers[0].retry') return []
    return given === undefined ? [here] : missing(inner, given, here)
  })
}

function otherThanDefault(shape: Shape, value: unknown, path: string): string[] {
  return Object.entries(shape.properties ?? {}).flatMap(([key, inner]) => {
    const here = path === '' ? key : `${path}.${key}`
    const given = (value as Record<string, unknown> | undefined)?.[key]
    if (inner.properties) return otherThanDefault(inner, given, here)
    if (inner.default === undefined || here === 'auth.admin_key') return []
    return JSON.stringify(given) === JSON.stringify(inner.default) ? [] : [`${here}: ${JSON.stringify(given)}`]
  })
}

t.test('the reference file loads without any variable, to the defaults', async t => {
  const { config } = readConfig({ path: FILE, env: {} })
  const { providers, ...rest } = config
  const { providers: none, ...defaults } = configSchema.parse({})
  t.strictSame(rest, defaults)
  t.strictSame(none, [])
  t.strictSame(
    providers.map(({ name }) => name),
    ['sim']
  )
})

t.test('the reference file names every option, with its default', async t => {
  const text = readFileSync(FILE, 'utf8')
  const used = parse(withExamples(text)) as Record<string, unknown[]>
  t.ok(
    ['providers', 'models', 'tools', 'advisors', 'keys'].every(name => used[name]?.length === 1),
    'entries are shown'
  )
  t.strictSame(missing(schema, used, ''), [])
  t.strictSame(otherThanDefault(schema, parse(text), ''), [])
  for (const [name, entry] of [
    ['providers', used.providers?.[0]],
    ['advisors', used.advisors?.[0]],
    ['keys', used.keys?.[0]]
  ] as const) {
    const fields = schema.properties?.[name]?.items ?? {}
    const told = otherThanDefault(fields, entry, name).filter(line => !/^(keys.key_sha256|advisors.secret)/.test(line))
    t.strictSame(told, [], `defaults of ${name}`)
  }
})

t.test('its example entries can be used as they stand', async t => {
  const dir = t.testdir({
    'gateway.yaml': withExamples(readFileSync(FILE, 'utf8')).replace('model: sim', 'model: fast')
  })
  const { config } = readConfig({ cwd: dir, env: {}, server: {} })
  t.equal(config.providers[0]?.base_url, 'https://api.openai.com/v1')
  t.equal(config.models[0]?.name, 'fast')
  t.equal(config.keys[0]?.id, 'team-a')
})

t.test('every option says what it is for', async t => {
  const silent: string[] = []
  const walk = (shape: Shape, path: string) => {
    for (const [key, inner] of Object.entries(shape.properties ?? {})) {
      if (!inner.description) silent.push(`${path}${key}`)
      walk(inner, `${path}${key}.`)
      if (inner.items) walk(inner.items, `${path}${key}[].`)
    }
  }
  walk(schema, '')
  t.strictSame(silent, [])
})
