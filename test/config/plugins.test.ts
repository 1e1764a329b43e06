import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { check } from '../../src/cli/check.ts'
import { ConfigError } from '../../src/config/config-error.ts'
import { effectiveYaml } from '../../src/config/effective.ts'
import { type LoadedPlugins, loadPlugins } from '../../src/config/load-plugins.ts'
import { readConfig } from '../../src/config/read.ts'

const PASS = 'turn, next) => next(turn'
const advisor = (name: string, places = "['turn']", more = '') =>
  `export default { name: '${name}', places: ${places}, ${more} create: () => (${PASS}) }\n`
const loop = (name: string) => `export default { name: '${name}', create: run => (${PASS}) }\n`
const index = (name: string) => `export default { name: '${name}', build: () => ({ search: () => [] }) }\n`
const tool = (name: string, schema = "{ type: 'object' }") =>
  `export default { name: '${name}', description: 'd', input_schema: ${schema}, run: () => 1 }\n`

/** A folder outside the repository, where nothing is installed. */
function folderOf(t: Test, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'plugins-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

function load(folder: string, yaml: string): Promise<LoadedPlugins> {
  writeFileSync(join(folder, 'gateway.yaml'), yaml)
  return loadPlugins(readConfig({ path: 'gateway.yaml', cwd: folder, env: {} }))
}

async function errors(t: Test, files: Record<string, string>, yaml: string): Promise<readonly string[]> {
  try {
    await load(folderOf(t, files), yaml)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

t.test('plugins are loaded from .ts and .js files, with their options checked and filled in', async t => {
  const files = {
    'plugins/one.ts': `import { defineAdvisor, type Turn } from 'loopgate'
import { z } from 'zod'
export default defineAdvisor({
  name: 'one', places: ['turn', 'call'], options: z.strictObject({ as: z.string().default('x'), n: z.number() }),
  create: ({ as }) => (turn: Turn, next) => next(turn)
})`,
    'two.js': advisor('two', "['call']", "options: { type: 'object', required: ['a'] },")
  }
  const { list } = await load(
    folderOf(t, files),
    `plugins: [{ path: ./plugins/one.ts, options: { n: 1 } }, { path: two.js, options: { a: [1] } }]
chain: { turn: [one], call: [two, meter] }`
  )
  t.match(list, [
    { kind: 'advisor', plugin: { name: 'one' }, options: { as: 'x', n: 1 } },
    { kind: 'advisor', plugin: { name: 'two' }, options: { a: [1] } }
  ])
})

t.test('a name that no advisor has is an error that names its place', async t => {
  t.same(await errors(t, { 'a.ts': advisor('a') }, 'plugins: [a.ts]\nchain: { turn: [audit, b] }'), [
    'gateway.yaml:2 chain.turn[1]: there is no advisor named b; known here are audit, memory, structured-output, a'
  ])
})

t.test('an advisor in the wrong list is told where it belongs', async t => {
  const files = { 'a.ts': advisor('a', "['call']") }
  t.same(await errors(t, files, 'plugins: [a.ts]\nchain:\n  turn: [a]\n  call: [memory, meter]'), [
    'gateway.yaml:3 chain.turn[0]: a belongs under call',
    'gateway.yaml:4 chain.call[0]: memory belongs under turn'
  ])
})

t.test('an advisor stands once in a chain', async t => {
  const files = { 'a.ts': advisor('a', "['turn', 'call']") }
  t.same(await errors(t, files, 'plugins: [a.ts]\nchain: { turn: [a], call: [a, meter] }'), [
    'gateway.yaml:2 chain.call[0]: a is listed twice'
  ])
})

t.test('the loop stands in no list, so there is never a second one', async t => {
  t.same(await errors(t, {}, 'chain: { turn: [audit, tool-loop] }'), [
    'gateway.yaml:1 chain.turn[1]: tool-loop may not be listed; it stands between the two lists'
  ])
  t.same(await errors(t, { 'l.ts': loop('mine') }, 'plugins: [l.ts]\nchain: { turn: [mine], loop: mine }'), [
    'gateway.yaml:2 chain.turn[0]: mine may not be listed, as it is a loop; chain.loop names it'
  ])
})

t.test('chain.loop and tool_search.index name what there is', async t => {
  t.same(await errors(t, {}, 'chain: { loop: mine }\ntool_search: { index: vector }'), [
    'gateway.yaml:1 chain.loop: there is no loop named mine; known are tool-loop',
    'gateway.yaml:2 tool_search.index: there is no tool index named vector; known are lexical, regex'
  ])
  const files = { 'l.ts': loop('mine'), 'i.ts': index('vector') }
  const yaml = 'plugins: [l.ts, i.ts]\nchain: { loop: vector }\ntool_search: { index: mine }'
  t.same(await errors(t, files, yaml), [
    'gateway.yaml:2 chain.loop: there is no loop named vector; known are tool-loop, mine',
    'gateway.yaml:3 tool_search.index: there is no tool index named mine; known are lexical, regex, vector'
  ])
  t.same(await errors(t, files, 'plugins: [l.ts, i.ts]\nchain: { loop: mine }\ntool_search: { index: vector }'), [])
})

t.test('no plugin has the name of something else', async t => {
  const files = {
    'memory.ts': advisor('memory'),
    'stock.ts': tool('Stock'),
    'a.ts': advisor('a'),
    'b.ts': loop('a'),
    'limits.ts':
      "export default { name: 'limits', tools: ['*'], create: () => (call, turn, next) => next(call, turn) }",
    'r.ts': advisor('remote')
  }
  const yaml = `plugins: [memory.ts, stock.ts, a.ts, b.ts, limits.ts, r.ts]
tools: [{ name: stock, endpoint: { url: "https://tools.example.com/stock" } }]
advisors: [{ name: remote, type: remote, places: [turn], url: "https://a.example.com/", secret: "whsec_${Buffer.alloc(32).toString('base64')}", on: [request] }]`
  t.same(await errors(t, files, yaml), [
    'gateway.yaml:1 plugins[0]: memory is built in already; choose another name',
    'gateway.yaml:1 plugins[1]: Stock is the name of tools[0] already; choose another name',
    'gateway.yaml:1 plugins[3]: a is the name of plugins[2] already; choose another name',
    'gateway.yaml:1 plugins[4]: limits is built in already; choose another name',
    'gateway.yaml:1 plugins[5]: remote is the name of advisors[0] already; choose another name'
  ])
})

t.test('options that the plugin does not take are errors that name the plugin', async t => {
  const files = {
    'zod.ts': `import { z } from 'zod'\n${advisor('a', "['turn']", 'options: z.strictObject({ n: z.number() }),')}`,
    'json.ts': advisor('b', "['turn']", "options: { type: 'object', properties: { n: { type: 'number' } } },"),
    'none.ts': advisor('c')
  }
  const options = 'options: { n: text }'
  const paths = Object.keys(files).map(path => `{ path: ${path}, ${options} }`)
  const told = await errors(t, files, `plugins: [${paths.join(', ')}]`)
  t.match(told, [
    /^gateway\.yaml:1 plugins\[0\]: a: options\.n: .*expected number/,
    /^gateway\.yaml:1 plugins\[1\]: b: options: .*\/n.*number/,
    /^gateway\.yaml:1 plugins\[2\]: c: it takes no options, not n$/
  ])
})

t.test('what is no plugin is told by its path', async t => {
  const files = {
    'nothing.ts': 'export const a = 1\n',
    'other.ts': 'export default { name: 1 }\n',
    'odd.ts': advisor('Odd Name'),
    'extra.ts': advisor('a', "['turn']", 'order: 3,'),
    'place.ts': advisor('b', "['middle']"),
    'broken.ts': 'throw new Error("no key")\n',
    'tool.ts': tool('loopgate_x'),
    'schema.ts': tool('x', "{ type: 'nothing' }")
  }
  const told = await errors(t, files, `plugins: [${Object.keys(files).join(', ')}, gone.ts, a.json]`)
  t.match(told, [
    /plugins\[0\]: nothing\.ts: its default export must be a plugin/,
    /plugins\[1\]: other\.ts: its default export is none of advisor, guard, tool/,
    /plugins\[2\]: odd\.ts: its advisor is not right: name: must be lower case letters/,
    /plugins\[3\]: extra\.ts: its advisor is not right: .*order/,
    /plugins\[4\]: place\.ts: its advisor is not right: places\.0: /,
    /plugins\[5\]: broken\.ts: it cannot be loaded: no key/,
    /plugins\[6\]: loopgate_x: The name loopgate_x is reserved/,
    /plugins\[7\]: x: /,
    /plugins\[8\]: gone\.ts there is no such file/,
    /plugins\[9\]: a\.json must end with \.ts, \.mts, \.js, \.mjs/
  ])
})

t.test('plugins lie under the folder of the configuration, with no link out of it', async t => {
  const folder = folderOf(t, { 'conf/inside/a.ts': advisor('a'), 'outside.ts': advisor('b') })
  const conf = join(folder, 'conf')
  symlinkSync(join(folder, 'outside.ts'), join(conf, 'link.ts'))
  symlinkSync(folder, join(conf, 'up'))
  symlinkSync('inside', join(conf, 'within'))
  const yaml = `plugins: [../outside.ts, link.ts, up/outside.ts, ${folder}/outside.ts]`
  const told = await load(conf, yaml).catch((error: ConfigError) => error.message)
  t.equal(String(told).match(/plugins\[\d\]: .* must lie under the folder/g)?.length, 4)
  t.equal((await load(conf, 'plugins: [within/a.ts]')).list.length, 1, 'a link that stays inside is followed')
})

t.test('no code is run of a configuration that is wrong otherwise', async t => {
  const files = { 'a.ts': `globalThis.ran = true\n${advisor('a')}` }
  t.equal((await errors(t, files, 'plugins: [a.ts]\ncolour: blue')).length, 1)
  t.notOk('ran' in globalThis)
})

t.test('both check and serve tell what is wrong with plugins, and end with 1', async t => {
  const folder = folderOf(t, { 'a.ts': advisor('a', "['call']") })
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, 'plugins: [a.ts]\nchain: { turn: [a] }')
  let said = ''
  t.equal(await check(['--config', file], { out: () => {}, err: text => (said += text) }), 1)
  t.match(said, `${file}:2 chain.turn[0]: a belongs under call`)
  const served = spawnSync(process.execPath, ['src/cli.ts', 'serve', '--config', file], { encoding: 'utf8' })
  t.equal(served.status, 1)
  t.equal(served.stderr, said)

  writeFileSync(file, 'plugins: [a.ts]\nchain: { call: [a, meter] }')
  t.equal(await check(['--config', file], { out: text => (said = text), err: () => {} }), 0)
  t.match(said, 'path: a.ts')
})

t.test('options of plugins that sound like secrets are not shown', async t => {
  const folder = folderOf(t, {})
  const options = '{ api_key: hunter2, deep: { session_token: hunter2 }, as: blue }'
  writeFileSync(join(folder, 'gateway.yaml'), `plugins: [{ path: a.ts, options: ${options} }]`)
  const shown = effectiveYaml(readConfig({ cwd: folder, env: {} }).config)
  t.notMatch(shown, /hunter2/)
  t.match(shown, 'as: blue')
})
