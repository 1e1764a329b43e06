import { writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { ConfigError } from '../../src/config/config-error.ts'
import { effectiveYaml } from '../../src/config/effective.ts'
import { readConfig } from '../../src/config/read.ts'

type Env = Record<string, string>

/** The configuration that a text gives, read as `gateway.yaml` of an otherwise empty folder. */
function read(t: Test, text: string, env: Env = {}) {
  return readConfig({ cwd: t.testdir({ 'gateway.yaml': text }), env })
}

/** The lines of what is wrong with a text. */
function errors(t: Test, text: string, env: Env = {}): string[] {
  try {
    read(t, text, env)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

t.test('where the configuration comes from', async t => {
  const dir = t.testdir({
    'gateway.yaml': 'server: { port: 1001 }',
    'env.yaml': 'server: { port: 1002 }',
    'named.yaml': 'server: { port: 1003 }'
  })
  const port = (options: Parameters<typeof readConfig>[0]) => readConfig({ cwd: dir, ...options }).config.server.port

  t.equal(port({ env: { LOOPGATE_CONFIG: 'env.yaml' }, path: 'named.yaml' }), 1003, '--config comes first')
  t.equal(port({ env: { LOOPGATE_CONFIG: 'env.yaml' } }), 1002, 'then LOOPGATE_CONFIG')
  t.equal(port({ env: {} }), 1001, 'then gateway.yaml of the working directory')
  t.equal(port({ env: {}, server: { port: 7 } }), 7, 'the command line holds over the file')
  t.throws(() => port({ env: {}, path: 'none.yaml' }), { message: 'none.yaml: cannot be read: there is no such file' })
})

t.test('without a file: demo mode, ready to be tried without a key', async t => {
  const { config, mode, source } = readConfig({ cwd: t.testdir({}), env: {} })
  t.equal(source, undefined)
  t.match(mode, { development: true, demo: true, loopback: true })
  t.match(config, {
    server: { host: '127.0.0.1', port: 8080 },
    default_model: 'sim',
    providers: [{ name: 'sim', kind: 'sim', models: ['sim', 'sim-script'] }],
    tool_search: { mode: 'on' },
    session: { required: false }
  })
  const keyed = readConfig({ cwd: t.testdir({}), env: { LOOPGATE_ADMIN_KEY: 'k'.repeat(16), OPENAI_API_KEY: 'sk' } })
  t.match(keyed.mode, { development: false, demo: true }, 'an admin key in the environment ends development mode')
  t.strictSame(
    keyed.config.providers.map(({ name }) => name),
    ['sim', 'openai']
  )
})

t.test('providers of the environment and of the house', async t => {
  const env = { OPENAI_API_KEY: 'sk-1', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' }
  const [openai, ...others] = read(t, 'default_model: gpt-5-mini', env).config.providers
  t.match(openai, { name: 'openai', base_url: 'http://127.0.0.1:9/v1', api_keys: ['sk-1'], models: ['gpt-*', 'o*'] })
  t.strictSame(others, [], 'no simulator beside a real provider')

  const declared = 'default_model: openai/x\nproviders: [{ name: openai, kind: openai, api_keys: [own] }]'
  t.match(read(t, declared, env).config.providers, [{ api_keys: ['own'], base_url: 'https://api.openai.com/v1' }])
  t.match(read(t, '').config.providers, [{ name: 'sim' }], 'an empty file is all defaults')
  t.equal(read(t, '').mode.demo, true, 'demo tools come with development mode')
  t.equal(read(t, 'demo: { enabled: false }').mode.demo, false)
})

t.test('variables and files are filled in', async t => {
  const dir = t.testdir({ secret: 'from-a-file-16ch\n' })
  const text = `
server: { port: "\${PORT}", trust_proxy: "\${PROXY}", drain_ms: \${DRAIN:-5} }
limits: { max_tokens: "\${TOKENS:-}" }
demo: { enabled: "\${DEMO}" }
default_model: "\${NAME:-sim}"
auth: { admin_key: "\${file:${dir}/secret}" }
keys: [{ id: a, key: "\${A}" }]
tool_search: { system_suffix: "pay $\${AMOUNT} in \${CITY}" }
`.replace('drain_ms: ${DRAIN:-5}', 'drain_ms: "${DRAIN:-5}"')
  const env = { PORT: '9', PROXY: 'true', DEMO: 'false', A: '1234567890123456', CITY: '${NOT_AGAIN}', NAME: '' }
  const { config } = readConfig({ path: write(t, text), env })
  t.match(config.server, { port: 9, trust_proxy: true, drain_ms: 5 })
  t.equal(config.limits.max_tokens, undefined)
  t.equal(config.demo.enabled, false)
  t.equal(config.default_model, 'sim', 'empty counts as not set where a default is given')
  t.equal(config.auth.admin_key, 'from-a-file-16ch')
  t.equal(config.keys[0]?.key, '1234567890123456', 'text stays text, whatever it looks like')
  t.equal(config.tool_search.system_suffix, 'pay ${AMOUNT} in ${NOT_AGAIN}', 'filled in once, $${ is text')
})

function write(t: Test, text: string): string {
  const path = `${t.testdirName}/config.yaml`
  writeFileSync(path, text)
  return path
}

t.test('everything that is wrong is told at once, with line, path and what is allowed', async t => {
  const text = `version: 1
server:
  prot: 8080
  port: 70000
  drain_ms: "\${MISSING}"
store: { synchronous: fulll }
providers:
  - name: up
    kind: grok
    api_keys: [a, b]
    base_url: ftp://x
models:
  - { name: fast, targets: [{ provider: up, model: a }, { provider: up, model: b }] }
chain:
  turn: [audit, tool-loop, retry, thnk]
  call: [memory, tool-search, tool-search]
auth: { admin_key: short }
limits: { per_tool: { stock_level: many }, max_calls: -2 }
tools: { a: 1 }
colour: blue
`
  t.strictSame(errors(t, text), [
    'gateway.yaml:3 server.prot: is not an option (did you mean port?); known here: host, port, public_url, body_limit_bytes, trust_proxy, drain_ms',
    'gateway.yaml:4 server.port: must be 0 to 65535',
    'gateway.yaml:5 server.drain_ms: the variable MISSING is not set; set it or write ${MISSING:-default}',
    'gateway.yaml:6 store.synchronous: must be one of full, normal',
    'gateway.yaml:9 providers[0].kind: must be one of openai, sim',
    'gateway.yaml:10 providers[0].api_keys: holds more than one key; rotation is not there yet, so list at most one',
    'gateway.yaml:11 providers[0].base_url: must be an http or https URL without user name, query and fragment',
    'gateway.yaml:13 models[0].targets: must hold exactly one target; weights and fallbacks are not there yet',
    'gateway.yaml:15 chain.turn[1]: tool-loop may not be listed; it stands between the two lists',
    'gateway.yaml:15 chain.turn[2]: retry belongs under call',
    'gateway.yaml:15 chain.turn[3]: there is no advisor named thnk; known here are audit, memory, structured-output',
    'gateway.yaml:16 chain.call[0]: memory belongs under turn',
    'gateway.yaml:16 chain.call[2]: tool-search is listed twice',
    'gateway.yaml:16 chain.call: meter may not be left out',
    'gateway.yaml:17 auth.admin_key: must be 16 to 512 visible ASCII characters',
    'gateway.yaml:18 limits.per_tool.stock_level: must be a number -1 to 1000000, not text',
    'gateway.yaml:18 limits.max_calls: must be -1 to 1000000',
    'gateway.yaml:19 tools: must be a list, not a mapping',
    `gateway.yaml:20 colour: is not an option; known here: ${SECTIONS}`
  ])
})

const SECTIONS =
  'version, server, store, secrets, auth, default_model, providers, models, retry, timeouts, prices, chain, loop, limits, ' +
  'session, memory, structured_output, tool_search, stream, tools_attach, tool_defaults, tools, egress, advisors, ' +
  'plugins, keys, audit, telemetry, log, demo, sim'

t.test('names must exist, be unique and fit together', async t => {
  const providers = 'providers: [{ name: up, kind: openai, models: ["m-*"] }]\n'
  t.strictSame(errors(t, `${providers}default_model: m-1`), [])
  t.strictSame(errors(t, `${providers}default_model: up/anything`), [])
  t.strictSame(
    errors(t, `default_model: fast\n${providers}models: [{ name: fast, targets: [{ provider: up, model: m }] }]`),
    []
  )
  t.strictSame(errors(t, `${providers}default_model: x`), [
    'gateway.yaml:2 default_model: no provider serves x; served are m-* and up/<model>'
  ])
  t.match(errors(t, `models: [{ name: fast, targets: [{ provider: upp, model: m }] }]`), [
    /^gateway.yaml:1 models\[0\].targets\[0\].provider: there is no provider named upp; known are sim$/
  ])
  t.match(errors(t, 'providers:\n  - { name: a, kind: sim }\n  - { name: a, kind: sim }'), [
    /^gateway.yaml:3 providers\[1\].name: is the name of providers\[0\] too/
  ])
  t.match(errors(t, 'retry: { min_ms: 5, max_ms: 4 }'), [/retry.min_ms: must not be more than max_ms/])
  t.match(errors(t, 'tool_search: { max_results: 8, max_results_limit: 4 }'), [/must be at least max_results \(8\)/])

  const key = '1234567890123456'
  const sha = 'a'.repeat(64)
  t.match(errors(t, `keys: [{ id: dev, key: "${key}" }, { id: b, key: "${key}" }, { id: c }]`), [
    /keys\[0\].id: is a name of the gateway's own/,
    /keys\[1\].key: is the key of keys\[0\] too/,
    /keys\[2\]: needs exactly one of key and key_sha256/
  ])
  t.match(errors(t, `auth: { admin_key: "${key}" }\nkeys: [{ id: a, key: "${key}" }]`), [
    /keys\[0\].key: is the admin_key/
  ])
  t.match(errors(t, `keys: [{ id: a, key: "${key}", key_sha256: ${sha} }]`), [/needs exactly one/])
})

t.test('tools of the file keep the rules of every registration', async t => {
  const text = `tools:
  - name: a
    endpoint: { url: "http://tools.example.com/a" }
  - name: A
    endpoint: { url: "https://tools.example.com/b", timeout_ms: 5 }
  - { name: toolSearchTool, endpoint: { url: "https://tools.example.com/c" } }
  - { name: d, endpoint: { url: "https://10.0.0.1/d" }, limitz: {} }
  - { name: e, endpoint: { url: "http://10.0.0.1/e", egress_policy: internal } }
`
  t.match(errors(t, text.replace(', timeout_ms: 5', '').replace(', limitz: {}', '')), [
    'gateway.yaml:3 tools[0].endpoint.url: must be https (egress policy public)',
    'gateway.yaml:4 tools[1].name: is the name of tools[0] too; each must have its own',
    /^gateway.yaml:6 tools\[2\].name: .*reserved/,
    /^gateway.yaml:7 tools\[3\].endpoint.url: /
  ])
  t.match(errors(t, text), [
    'gateway.yaml:3 tools[0].endpoint.url: must be https (egress policy public)',
    'gateway.yaml:4 tools[1].name: is the name of tools[0] too; each must have its own',
    'gateway.yaml:5 tools[1].endpoint.timeout_ms: must be 100 to 120000',
    /^gateway.yaml:6 /,
    /^gateway.yaml:7 tools\[3\].limitz: is not an option \(did you mean limits\?\)/,
    /^gateway.yaml:7 tools\[3\].endpoint.url: /
  ])
  const many = `tools:
  - name: "a b"
    title: ${'x'.repeat(1025)}
    input_schema: { type: 5 }
    output_schema: { $ref: "#" }
    signing: { secret: whsec_x }
    endpoint:
      url: "http://tools.example.com/a"
      headers: { host: x }
  - { name: loopgate_b, endpoint: { url: "http://tools.example.com/b", egress_policy: nosuch } }
`
  t.match(errors(t, many), [
    /^gateway.yaml:2 tools\[0\].name: must be 1 to 63 of/,
    /^gateway.yaml:3 tools\[0\].title: must have at most 1024 characters/,
    /^gateway.yaml:4 tools\[0\].input_schema: is not a JSON Schema/,
    /^gateway.yaml:5 tools\[0\].output_schema: has a reference that leads back to itself/,
    /^gateway.yaml:6 tools\[0\].signing.secret: must be whsec_/,
    /^gateway.yaml:8 tools\[0\].endpoint.url: must be https/,
    /^gateway.yaml:9 tools\[0\].endpoint.headers.host: is a header that only the gateway may set/,
    /^gateway.yaml:10 tools\[1\].name: .*reserved/,
    /^gateway.yaml:10 tools\[1\].endpoint.egress_policy: There is no egress policy nosuch/
  ])
  t.match(errors(t, 'tool_defaults: { endpoint: { url: x } }'), [/tool_defaults.endpoint.url: is not an option/])
})

t.test('a gateway does not stand open on a network without any key', async t => {
  t.match(errors(t, 'server: { host: 0.0.0.0 }'), [/^gateway.yaml:1 server.host: 0.0.0.0 is not a loopback address/])
  t.strictSame(errors(t, 'server: { host: 0.0.0.0 }', { LOOPGATE_ADMIN_KEY: 'k'.repeat(16) }), [])
  t.strictSame(errors(t, 'server: { host: 0.0.0.0 }\nauth: { mode: none }'), [])
  t.equal(read(t, 'server: { host: "::1" }').mode.development, true)
  t.equal(read(t, 'auth: { mode: keys }').mode.development, false)
  t.equal(read(t, 'keys: [{ id: a, key: "1234567890123456" }]').mode.development, false)
  t.throws(
    () => readConfig({ cwd: t.testdir({}), env: {}, server: { host: '10.0.0.1' } }),
    /10.0.0.1 is not a loopback/
  )
})

t.test('what is no YAML is told with its line', async t => {
  t.match(errors(t, 'server:\n  port: 1\n  port: 2'), [
    /^gateway.yaml:3: is no valid YAML here: Map keys must be unique/
  ])
  t.match(errors(t, 'a: [1'), [/^gateway.yaml:1: is no valid YAML here/])
  t.match(errors(t, '- a'), ['gateway.yaml: must be a mapping, not a list'])
  const bomb = ['a0: &a0 [x, x]', ...Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]`)]
  t.match(errors(t, bomb.join('\n')), [/repeats too much by aliases/])
})

t.test('secrets are never shown, neither in errors nor in the effective configuration', async t => {
  const secret = 'sup3r-secret-value'
  const signing = `whsec_${Buffer.from(secret.repeat(2)).toString('base64')}`
  const text = `
auth: { admin_key: "${secret}" }
default_model: up/m
providers: [{ name: up, kind: openai, api_keys: ["${secret}"], headers: { x-api-key: "${secret}", x-team: blue } }]
keys: [{ id: a, key: "${secret}-a" }]
tools: [{ name: x, endpoint: { url: "https://tools.example.com/x" }, auth: { type: bearer, secret: "${secret}" }, signing: { secret: "${signing}" } }]
`
  const shown = effectiveYaml(read(t, text).config)
  t.notMatch(shown, secret)
  t.notMatch(shown, 'whsec_')
  t.match(shown, 'x-team: blue')
  t.match(shown, 'admin_key: "***"')
  t.match(shown, 'key_file: ./data/kek')
  t.match(shown, 'commit_ms: 10000')
  t.notMatch(errors(t, `store: { kind: ${secret} }\nserver: { port: "${secret}" }`).join(), secret)
})
