import { spawn, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { endsWithUs } from '../src/cases/ends-with-us.ts'
import { demoGateway } from './helper/demo-gateway.ts'
import { type FencedBlock, fencedBlocks } from './helper/fenced-blocks.ts'
import { pythonEnvironment } from './helper/python-environment.ts'
import { want } from './helper/want.ts'

const PUBLISHED = 'http://127.0.0.1:8080'
const guides = globSync('docs/guides/*.md').sort()
const pages = ['README.md', ...guides]
/** What is shown to be typed by people, and what this test does in their place or the whole run does. */
const TYPED = /^(npm ci && npm start|npm test|OPENAI_API_KEY=sk-… npm start)$/
const LANGUAGES = ['', 'sh', 'yaml', 'ts', 'python']

interface Ran {
  readonly code: number | null
  readonly output: string
}

/** Commands see the `node` of the machine, as a reader's shell does, not the one that npm puts before it. */
const PATH = (process.env.PATH ?? '')
  .split(delimiter)
  .filter(folder => !folder.includes('node_modules'))
  .join(delimiter)

function ran(command: string, parameters: readonly string[], env = {}): Promise<Ran> {
  return new Promise(done => {
    const child = endsWithUs(spawn(command, parameters, { env: { ...process.env, PATH, ...env } }))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
    child.on('close', code => done({ code, output }))
  })
}

function check(t: Test, { place }: FencedBlock, { code, output }: Ran): void {
  t.equal(code, 0, `${place} ends well: ${output.slice(0, 600)}`)
  t.notMatch(output, /\{"error":/, `${place} is not answered by an error`)
}

// Starts processes, which takes a while on a busy machine.
t.setTimeout(300_000)

t.test('every example is of a kind that this test runs', async t => {
  for (const { place, language } of pages.flatMap(fencedBlocks)) t.ok(LANGUAGES.includes(language), place)
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.equal(scripts.start, 'node src/cli.ts serve', 'what is started below is what `npm start` starts')
})

t.test(
  "the README's two commands stream an answer, made with tools that were found and called",
  want('curl'),
  async t => {
    const gateway = await demoGateway(t.testdir())
    t.teardown(() => gateway.stop())
    const commands = fencedBlocks('README.md').filter(
      ({ language, text }) => language === 'sh' && !TYPED.test(text.trim())
    )
    t.equal(commands.length, 2)
    for (const block of commands) {
      const result = await ran('bash', ['-euc', block.text.replaceAll(PUBLISHED, gateway.url)])
      check(t, block, result)
      await checkDemoAnswer(t, result.output, gateway.url)
    }
  }
)

interface RunView {
  readonly rounds: readonly {
    readonly tools_offered: readonly string[]
    readonly usage: { readonly total_tokens: number }
    readonly calls: readonly { readonly tool: string; readonly status: string }[]
  }[]
}

async function checkDemoAnswer(t: Test, output: string, url: string): Promise<void> {
  const frames = output.split('\n\n').flatMap(frame => frame.match(/^data: (.*)$/m)?.[1] ?? [])
  t.equal(frames.at(-1), '[DONE]')
  const chunks = frames.slice(0, -1).map(frame => JSON.parse(frame))
  const said = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
  t.match(said, /add_days_to_date: \{.*"2026-12-31"\}/)
  t.match(said, /get_weather: \{"city":"Oslo"/)
  t.ok(chunks.filter(({ choices }) => choices[0]?.delta.content).length > 3, 'it came in pieces')
  const { loopgate, usage } = chunks.find(chunk => chunk.loopgate)
  const run = (await (await fetch(`${url}/v1/turns/${loopgate.turn_id}`)).json()) as RunView
  const calls = run.rounds.flatMap(round => round.calls)
  t.strictSame(calls.map(({ tool, status }) => `${tool} ${status}`).sort(), [
    'add_days_to_date ok',
    'get_weather ok',
    'toolSearchTool ok'
  ])
  t.strictSame(run.rounds[0]?.tools_offered, ['toolSearchTool'], 'the model was shown only the search at first')
  const sum = run.rounds.reduce((total, { usage }) => total + usage.total_tokens, 0)
  t.equal(usage.total_tokens, sum, 'the usage is that of all rounds')
}

t.test('the commands of the guides work, one after the other', want('curl'), async t => {
  for (const guide of guides) {
    const gateway = await demoGateway(t.testdir())
    const commands = fencedBlocks(guide).filter(({ language }) => language === 'sh')
    for (const block of commands) {
      check(t, block, await ran('bash', ['-euc', block.text.replaceAll(PUBLISHED, gateway.url)]))
    }
    await gateway.stop()
  }
})

t.test('the programs of the guides work', async t => {
  const gateway = await demoGateway(t.testdir())
  const folder = resolve('.cache/docs')
  mkdirSync(folder, { recursive: true })
  t.teardown(() => Promise.all([gateway.stop(), rmSync(folder, { recursive: true })]))
  // A program that serves does not end by itself, and a file with a name is a part of something: each has its own test.
  const blocks = guides
    .flatMap(fencedBlocks)
    .filter(({ text, title }) => title === '' && !text.includes('serve_forever()'))
  const runAll = async (t: Test, language: string, program: string) => {
    for (const [i, block] of blocks.filter(each => each.language === language).entries()) {
      const file = `${folder}/example-${i}.${language === 'ts' ? 'ts' : 'py'}`
      writeFileSync(file, block.text.replaceAll(PUBLISHED, gateway.url))
      const result = await ran(program, [file])
      check(t, block, result)
      t.match(result.output, /get_weather: |all laws hold/, `${block.place} says what it should`)
    }
  }
  await t.test('in TypeScript', t => runAll(t, 'ts', process.execPath))
  await t.test('in Python', want('python3'), t => runAll(t, 'python', pythonEnvironment()))
})

/** Any value does for a variable that a configuration names, as long as keys are long enough and secrets are secrets. */
const VARIABLES = {
  LOOPGATE_ADMIN_KEY: 'sk-admin-0123456789',
  TEAM_A_KEY: 'sk-team-a-0123456789',
  OPENAI_API_KEY: 'sk-openai',
  PII_CHECK_SECRET: `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
  STOCK_SIGNING_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`
}

function checkConfig(t: Test, place: string, text: string): void {
  const file = `${t.testdir({ 'gateway.yaml': text })}/gateway.yaml`
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_API_KEY$|_BASE_URL$/.test(name)))
  const named = Object.entries(VARIABLES).filter(([name]) => text.includes(`\${${name}}`))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['src/cli.ts', 'check', '--config', file], {
    encoding: 'utf8',
    env: { ...env, ...Object.fromEntries(named) }
  })
  t.equal(status, 0, `${place} passes \`loopgate check\`: ${stdout}${stderr}`)
}

t.test('the configurations of the guides hold', async t => {
  const blocks = guides.flatMap(fencedBlocks).filter(({ language, title }) => language === 'yaml' && title === '')
  t.ok(blocks.length > 3)
  for (const { place, text } of blocks) await t.test(place, async t => checkConfig(t, place, text))
})

t.test('links inside the repository lead somewhere', async t => {
  const files = [...pages, 'src/README.md', ...globSync('docs/{adr,reference}/*.md')]
  for (const file of files) {
    for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      if (/^https?:/.test(target)) continue
      t.equal(globSync(resolve(dirname(file), target)).length, 1, `${file}: ${target}`)
    }
  }
})

t.test('the reference is up to date', async t => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/docs.ts', '--check'], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
})

t.test('the manifests are whole, and their configuration holds', async t => {
  const read = (name: string) => readFileSync(`deploy/kubernetes/${name}`, 'utf8')
  const { resources } = parse(read('kustomization.yaml'))
  t.strictSame([...resources].sort(), ['configmap.yaml', 'deployment.yaml', 'pvc.yaml', 'secret.yaml', 'service.yaml'])
  for (const file of resources)
    t.ok(
      parseAllDocuments(read(file)).every(document => document.errors.length === 0),
      file
    )

  const config = parse(read('configmap.yaml'))
  checkConfig(t, 'configmap.yaml', config.data['gateway.yaml'])
  const settings = parse(config.data['gateway.yaml'])
  const { template } = parse(read('deployment.yaml')).spec
  const [container] = template.spec.containers
  t.ok(template.spec.terminationGracePeriodSeconds * 1000 > settings.server.drain_ms, 'turns under way may end')
  t.equal(container.ports[0].containerPort, settings.server.port)
  t.match(container, {
    readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
    livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
    securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false }
  })
  t.ok(settings.store.path.startsWith(container.volumeMounts[1].mountPath), 'the database is on the volume')
  const used = [...config.data['gateway.yaml'].matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)
  t.strictSame(
    used.filter(name => !(name in parse(read('secret.yaml')).stringData)),
    [],
    'every variable is there'
  )

  const compose = parse(readFileSync('deploy/docker-compose.yaml', 'utf8'))
  t.match(compose.services.loopgate, { read_only: true, volumes: ['data:/app/data'] })
})
