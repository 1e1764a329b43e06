import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { endsWithUs } from '../src/cases/ends-with-us.ts'

const KEY = 'sk-image-0123456789'
const folder = resolve('.cache/image')

// What the Dockerfile does, without a container: the compiled files, beside the package's own description.
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
copyFileSync('package.json', `${folder}/package.json`)
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', '--outDir', `${folder}/dist`], { stdio: 'inherit' })
t.teardown(() => rmSync(folder, { recursive: true }))

// Starts processes, which takes a while on a busy machine.
t.setTimeout(300_000)

t.test('the image runs what was compiled, on all addresses, and only with a key', async t => {
  const cwd = t.testdir()
  const command = [`${folder}/dist/cli.js`, 'serve', '--host', '0.0.0.0', '--port', '0']
  const { LOOPGATE_ADMIN_KEY: _, ...env } = process.env
  const refused = spawnSync(process.execPath, command, { cwd, env, encoding: 'utf8' })
  t.equal(refused.status, 1, 'without a key it does not start')
  t.match(refused.stderr, /there is no key/)

  const child = spawn(process.execPath, command, {
    cwd,
    env: { ...env, LOOPGATE_ADMIN_KEY: KEY },
    stdio: ['ignore', 'pipe', 'ignore']
  })
  endsWithUs(child)
  t.teardown(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { url } = JSON.parse(line)
  t.equal((await fetch(`${url}/healthz`)).status, 200)
  t.equal((await fetch(`${url}/readyz`)).status, 200)
  t.equal((await fetch(`${url}/v1/models`)).status, 401)
  t.equal((await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } })).status, 200)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null], 'it stops when it is told to')
})

t.test('the Dockerfile copies what the start needs, and only that', async t => {
  const text = readFileSync('Dockerfile', 'utf8')
  t.match(text, /npm ci --omit=dev --omit=optional/)
  t.match(text, /^USER node$/m)
  t.match(text, /^HEALTHCHECK /m)
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) => names.split(' '))
  const sent = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .flatMap(line => /^!(.+)$/.exec(line)?.[1] ?? [])
  t.strictSame([...new Set(copied)].map(name => name.replace('./', '')).sort(), sent.sort())
})
