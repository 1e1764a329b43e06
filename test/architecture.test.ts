import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

/** What a folder of `src` may import: folders or files of ours, and packages. `node:` is open to all, also to core. */
const ALLOWED: Record<string, { ours: readonly string[]; packages: readonly string[] }> = {
  core: { ours: [], packages: [] },
  plugins: { ours: ['core', 'tools'], packages: ['zod', 'lru-cache'] },
  laws: { ours: ['core', 'stores/contracts.ts', 'advisors', 'plugins', 'tools/guards'], packages: [] },
  stores: { ours: ['core'], packages: ['kysely', 'lru-cache'] },
  dialects: { ours: ['core'], packages: ['openai', '@anthropic-ai/sdk'] },
  providers: { ours: ['core'], packages: ['undici', 'openai', '@anthropic-ai/sdk'] },
  routing: { ours: ['core', 'providers/provider.ts'], packages: [] },
  advisors: { ours: ['core', 'stores/contracts.ts', 'egress'], packages: [] },
  tools: {
    ours: ['core', 'stores/contracts.ts', 'egress'],
    packages: ['undici', 'ajv', 're2js', 'stemmer', 'lru-cache', 'zod']
  },
  egress: { ours: ['core'], packages: ['undici'] },
  access: { ours: ['core', 'stores/contracts.ts', 'egress'], packages: [] },
  telemetry: { ours: ['core'], packages: ['prom-client'] },
  config: {
    ours: ['core', 'advisors', 'tools', 'providers', 'routing', 'stores', 'plugins'],
    packages: ['zod', 'yaml']
  },
  http: {
    ours: ['core', 'dialects', 'telemetry', 'access', 'stores/contracts.ts', 'tools', 'config'],
    packages: ['fastify', '@fastify/sse', '@fastify/swagger', 'fastify-type-provider-zod', 'zod', 'yaml', 'lru-cache']
  },
  cli: { ours: ['config', 'core', 'cases'], packages: ['yaml', 'zod', 'undici'] },
  cases: { ours: ['config', 'core'], packages: ['undici', 'yaml', 'zod'] },
  crash: { ours: ['cases', 'laws', 'stores'], packages: [] },
  bench: { ours: ['config', 'cases'], packages: ['undici', 'yaml'] }
}

/** From these folders `http` takes types only: what they build comes to it as options of its plugins. */
const TYPES_ONLY: Record<string, readonly string[]> = { http: ['tools', 'config'] }
/** The vendors' packages are for their types, and for a transport that is loaded when it is asked for. */
const LAZY = ['openai', '@anthropic-ai/sdk']
const MAX_LINES = 300

interface Import {
  readonly from: string
  readonly target: string
  readonly kind: 'value' | 'type' | 'dynamic'
}

const sources = globSync('src/**/*.ts').sort()
const everything = [...sources, ...globSync('test/**/*.ts'), ...globSync('scripts/**/*.ts')].sort()
const textOf = (file: string) => readFileSync(file, 'utf8')

/** All imports of a file: `import … from`, `export … from`, `import '…'`, `import('…')`. */
function importsOf(file: string): Import[] {
  const text = textOf(file)
  const statements = text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm)
  const dynamic = text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g)
  return [
    ...[...statements].map(([, type, target = '']): Import => ({ from: file, target, kind: type ? 'type' : 'value' })),
    ...[...dynamic].map(([, target = '']): Import => ({ from: file, target, kind: 'dynamic' }))
  ]
}

const folderOf = (file: string) => (/^src\/([^/]+)\//.exec(file) ?? [])[1]
const packageOf = (target: string) =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')
const within = (place: string, allowed: readonly string[]) =>
  allowed.some(entry => place === entry || place.startsWith(`${entry}/`))

/** Why the import may not be; `undefined` when it may. */
function complaint({ from, target, kind }: Import): string | undefined {
  const folder = folderOf(from)
  if (target.startsWith('node:') || folder === undefined) return undefined
  const rule = ALLOWED[folder]
  if (rule === undefined) return `${from}: the folder ${folder} has no rule here`

  if (!target.startsWith('.')) {
    const name = packageOf(target)
    if (!rule.packages.includes(name)) return `${from}: ${folder} may not import the package ${name}`
    if (LAZY.includes(name) && kind === 'value') return `${from}: ${name} is for types or a lazy import`
    return undefined
  }
  const place = join(dirname(from), target).slice('src/'.length)
  if (place === folder || place.startsWith(`${folder}/`)) return undefined
  if (!within(place, rule.ours)) return `${from}: ${folder} may not import ${place}`
  if (kind === 'value' && within(place, TYPES_ONLY[folder] ?? [])) return `${from}: only types may come from ${place}`
  return undefined
}

t.test('imports go the ways that the table allows', async t => {
  t.ok(sources.length > 50, 'the sources were found')
  const complaints = sources.flatMap(importsOf).flatMap(one => complaint(one) ?? [])
  t.strictSame(complaints, [])
})

t.test('the rules catch what they are for', async t => {
  const value = (from: string, target: string): Import => ({ from, target, kind: 'value' })
  t.match(complaint(value('src/core/a.ts', 'zod')), /may not import the package zod/)
  t.match(complaint(value('src/core/a.ts', '../http/b.ts')), /core may not import http/)
  t.match(complaint(value('src/http/a.ts', '../config/schema.ts')), /only types/)
  t.match(complaint(value('src/stores/sqlite/a.ts', '../../advisors/b.ts')), /stores may not import advisors/)
  t.match(complaint(value('src/providers/a.ts', 'openai')), /types or a lazy import/)
  t.match(complaint(value('src/unheard/a.ts', '../core/b.ts')), /no rule/)
  t.equal(complaint({ ...value('src/http/a.ts', '../config/schema.ts'), kind: 'type' }), undefined)
  t.equal(complaint({ ...value('src/providers/a.ts', 'openai'), kind: 'dynamic' }), undefined)
})

t.test('only server.ts imports app.ts, and nothing imports server.ts but the command line', async t => {
  const of = (name: string) =>
    sources.filter(file => importsOf(file).some(({ target }) => target.startsWith('.') && target.endsWith(`/${name}`)))
  t.strictSame(
    of('app.ts').filter(file => file !== 'src/server.ts'),
    []
  )
  t.strictSame(
    of('server.ts').filter(file => !/^src\/(cli\.ts|cli\/)/.test(file)),
    []
  )
})

t.test('pino is for server.ts and app.ts: all others take the shape of `Log`', async t => {
  const users = sources.filter(file => importsOf(file).some(({ target }) => packageOf(target) === 'pino'))
  t.strictSame(
    users.filter(file => !/^src\/(app|server)\.ts$/.test(file)),
    []
  )
})

t.test('what runs imports only what is installed without the development packages', async t => {
  const { dependencies } = JSON.parse(textOf('package.json'))
  const packages = new Set(
    sources.flatMap(importsOf).flatMap(({ target }) => (/^(\.|node:)/.test(target) ? [] : packageOf(target)))
  )
  t.strictSame(
    [...packages].filter(name => !(name in dependencies)),
    []
  )
})

t.test(`no file is longer than ${MAX_LINES} lines`, async t => {
  const long = everything.map(file => ({ file, lines: textOf(file).trimEnd().split('\n').length }))
  t.strictSame(
    long.filter(({ lines }) => lines > MAX_LINES),
    []
  )
})

t.test('no name says nothing, and no provider is named where all are meant', async t => {
  const idle = everything.filter(file => /(?:^|[/-])(utils?|helpers|common|manager|service)\b/.test(file))
  t.strictSame(idle, [])
  // Both vendors are words of the contract where it speaks of error bodies and wire formats.
  const named = sources.filter(
    file => /^src\/(advisors|tools|stores|egress|access)\//.test(file) && /anthropic|gemini|ollama/i.test(textOf(file))
  )
  t.strictSame(named, [])
})

t.test('no `any`, no enum, no namespace, no switched-off check', async t => {
  const banned = [
    /\bas any\b/,
    /:\s*any\b(?!\w)/,
    /<any>/,
    /^\s*(?:export )?(?:const )?enum /m,
    /^\s*(?:export )?namespace /m
  ]
  const excused = [/@ts-ignore/, /@ts-nocheck/, /@ts-expect-error/, /biome-ignore-all/]
  const code = everything.filter(file => file !== 'test/architecture.test.ts')
  const withoutWords = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|'[^'\n]*'/gm, '')
  for (const rule of banned) {
    t.strictSame(
      code.filter(file => rule.test(withoutWords(textOf(file)))),
      [],
      String(rule)
    )
  }
  for (const rule of excused) {
    t.strictSame(
      code.filter(file => rule.test(textOf(file))),
      [],
      String(rule)
    )
  }
})
