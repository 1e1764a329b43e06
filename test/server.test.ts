import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { endsWithUs } from '../src/cases/ends-with-us.ts'

// Each test starts whole processes, on a machine that may be busy with others.
t.setTimeout(180_000)

const PROGRAM = fileURLToPath(new URL('../src/cli.ts', import.meta.url))

interface Started {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Exit code, once the process has ended. */
  readonly exit: Promise<number | null>
  /** The URL of the first line, once it is there. */
  readonly url: Promise<string>
}

/** `loopgate serve` in an own folder, without any variable of ours. */
function serve(t: Test, cwd: string, ...args: string[]): Started {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(LOOPGATE|OPENAI)_/.test(name)))
  const child = endsWithUs(
    spawn(process.execPath, [PROGRAM, 'serve', ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  )
  t.teardown(() => child.kill('SIGKILL'))
  const out: string[] = []
  const err: string[] = []
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  promise.catch(() => {})
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out.push(text)
    const [first, rest] = out.join('').split('\n')
    if (first !== undefined && rest !== undefined) resolve((JSON.parse(first) as { url: string }).url)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => void err.push(text))
  const exit = once(child, 'close').then(([code]) => {
    reject(new Error(`ended with ${code}: ${err.join('')}`))
    return code as number | null
  })
  return { child, stdout: () => out.join(''), stderr: () => err.join(''), exit, url: promise }
}

/** A provider that answers when it is told to. */
interface Upstream {
  /** A configuration that knows only this provider. */
  readonly file: (drainMs: number) => string
  /** A question has arrived. */
  readonly asked: Promise<void>
  readonly answer: () => void
}

async function upstream(t: Test): Promise<Upstream> {
  const asked = Promise.withResolvers<void>()
  const told = Promise.withResolvers<void>()
  const server = createServer(async (_request, response) => {
    asked.resolve()
    await told.promise
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ choices: [{ message: { content: 'done' }, finish_reason: 'stop' }] }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return {
    file: drainMs => `
default_model: m
providers: [{ name: up, kind: openai, base_url: "${base}", models: [m] }]
demo: { enabled: false }
server: { drain_ms: ${drainMs} }
`,
    asked: asked.promise,
    answer: told.resolve
  }
}

function chat(url: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] })
  })
}

async function ready(url: string): Promise<number> {
  const response = await fetch(`${url}/readyz`, { headers: { connection: 'close' } })
  await response.text()
  return response.status
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

t.test('without a file: one command, and a curl line that works', async t => {
  const dir = t.testdir({})
  const gateway = serve(t, dir, '--port', '0', '--port-file', 'port')
  const url = await gateway.url
  const [first = ''] = gateway.stdout().split('\n')
  t.match(JSON.parse(first), { level: 'info', event: 'server.listening', url: /^http:\/\/127\.0\.0\.1:\d+$/ })
  t.equal(readFileSync(join(dir, 'port'), 'utf8'), `${new URL(url).port}\n`)
  t.notOk(existsSync(join(dir, 'port.tmp')))
  t.equal(await ready(url), 200)

  for (let i = 0; i < 1500 && !gateway.stdout().includes('curl'); i++) await pause(20)
  const line = /^ {2}curl -N (\S+) -H '([^:]+): ([^']+)' -d '([^']+)'$/m.exec(gateway.stdout())
  t.ok(line, gateway.stdout())
  const [, to = '', name = '', value = '', body = ''] = line ?? []
  const answer = await fetch(to, { method: 'POST', headers: { [name]: value }, body })
  t.equal(answer.status, 200)
  t.match(await answer.text(), /data: \[DONE\]/)

  gateway.child.kill('SIGINT')
  t.equal(await gateway.exit, 0)
  t.notMatch(gateway.stdout(), /Server listening/, 'it is said once, by server.listening')
  t.match(gateway.stdout(), /"event":"server.stopping","signal":"SIGINT"/)
})

t.test('exit 1: the configuration is wrong, and every error is told', async t => {
  const dir = t.testdir({ 'gateway.yaml': 'server: { prt: 1 }\nlog: { level: loud }\n' })
  const broken = serve(t, dir)
  t.equal(await broken.exit, 1)
  t.equal(broken.stdout(), '')
  t.match(broken.stderr(), /^gateway.yaml:1 server.prt: .*\ngateway.yaml:2 log.level: .*\n$/)

  const open = serve(t, t.testdir({}), '--host', '0.0.0.0', '--port', '0')
  t.equal(await open.exit, 1)
  t.match(open.stderr(), /0.0.0.0 is not a loopback address and there is no key/)
})

t.test('exit 2: wrong usage', async t => {
  const wrong = serve(t, t.testdir({}), '--prot', '0')
  t.equal(await wrong.exit, 2)
  t.match(wrong.stderr(), /Unknown option '--prot'/)
})

t.test('exit 4: it cannot listen, or cannot have its store', async t => {
  const other = createServer()
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  const taken = serve(t, t.testdir({}), '--port', String(port))
  t.equal(await taken.exit, 4)
  t.match(taken.stderr(), /EADDRINUSE.*choose another port/)

  const dir = t.testdir({ 'gateway.yaml': 'store: { path: file/loopgate.db }\n', file: '' })
  const storeless = serve(t, dir, '--port', '0')
  t.equal(await storeless.exit, 4, storeless.stderr())

  const nowhere = serve(t, t.testdir({ 'gateway.yaml': 'store: { path: /proc/nosuch/l.db }\n' }), '--port', '0')
  t.equal(await nowhere.exit, 4, nowhere.stderr())
  t.match(nowhere.stderr(), /^The gateway cannot start: The database \/proc\/nosuch\/l\.db cannot be used: .*\n$/)
  const keyless = serve(t, t.testdir({ 'gateway.yaml': 'secrets: { key_file: /proc/nosuch/kek }\n' }), '--port', '0')
  t.equal(await keyless.exit, 4, keyless.stderr())
  t.match(keyless.stderr(), /^The gateway cannot start: The key file \/proc\/nosuch\/kek cannot be made: .*\n$/)
})

t.test('SIGTERM: not ready, no new turns, running ones finish, exit 0', async t => {
  const up = await upstream(t)
  const gateway = serve(t, t.testdir({ 'gateway.yaml': up.file(60_000) }), '--port', '0')
  const url = await gateway.url
  const running = chat(url)
  await up.asked
  gateway.child.kill('SIGTERM')
  for (let i = 0; i < 1500 && (await ready(url)) === 200; i++) await pause(20)
  t.equal(await ready(url), 503)
  const refused = await chat(url)
  t.equal(refused.status, 503)
  t.match(await refused.json(), { error: { code: 'shutting_down' } })
  up.answer()
  const answer = await running
  t.match(await answer.json(), { choices: [{ message: { content: 'done' } }] })
  t.equal(await gateway.exit, 0)
})

t.test('a turn that outlasts drain_ms is cut', async t => {
  const up = await upstream(t)
  const gateway = serve(t, t.testdir({ 'gateway.yaml': up.file(300) }), '--port', '0')
  const cut = chat(await gateway.url).then(
    response => response.status,
    () => 'cut'
  )
  await up.asked
  const startedAt = Date.now()
  gateway.child.kill('SIGTERM')
  t.equal(await gateway.exit, 0)
  t.ok(Date.now() - startedAt >= 300, 'it had its time')
  t.not(await cut, 200, 'the client is not told that all is well')
})

t.test('a second signal ends everything at once', async t => {
  const up = await upstream(t)
  const gateway = serve(t, t.testdir({ 'gateway.yaml': up.file(600_000) }), '--port', '0')
  chat(await gateway.url).catch(() => {})
  await up.asked
  gateway.child.kill('SIGTERM')
  for (let i = 0; i < 1500 && !gateway.stdout().includes('server.stopping'); i++) await pause(20)
  gateway.child.kill('SIGTERM')
  t.not(await gateway.exit, 0)
})

for (const requests of [0, 30]) {
  t.test(`a gateway whose log nobody reads answers ${requests} more requests, and stops when told`, async t => {
    const { child, url, exit } = serve(t, t.testdir({}), '--port', '0')
    const base = await url
    child.stdout?.destroy()
    child.stderr?.destroy()
    for (let asked = 0; asked < requests; asked++) {
      const response = await fetch(`${base}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })
      })
      t.equal(response.status, 200)
    }
    child.kill('SIGTERM')
    t.equal(await exit, 0)
  })
}
