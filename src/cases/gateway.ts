/** A gateway started for real: a child process on a free port, with a fresh data folder and a file of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { endsWithUs } from './ends-with-us.ts'
import { type Fields, fieldsOf } from './fields.ts'

export interface GatewayOptions {
  /**
   * The configuration file, as an object. Listens on loopback, keeps its data in a folder of its own and serves no
   * demo tools unless it says otherwise.
   */
  readonly config: Fields
  /** Environment beside the caller's, of which keys and addresses of providers and `LOOPGATE_*` are left out. */
  readonly env?: Readonly<Record<string, string>>
  /** Arguments after `serve --config … --port 0`. */
  readonly args?: readonly string[]
  /** How long the start may take. Default 20,000 ms. */
  readonly startMs?: number
}

export interface Gateway {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string
  readonly process: ChildProcess
  /** What the process wrote so far, stdout and stderr. */
  output(): string
  /** Has the process neither ended nor been stopped? */
  isAlive(): boolean
  /** Ends the process (kills it if it does not end by itself) and removes its data. */
  stop(): Promise<void>
}

/** The process ended before it listened. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
  /** Exit code; `undefined` when a signal ended it. */
  readonly exitCode: number | undefined
  readonly output: string

  constructor(exitCode: number | undefined, output: string) {
    super(`the gateway did not start (exit ${exitCode ?? 'by signal'}): ${output.trim()}`)
    this.exitCode = exitCode
    this.output = output
  }
}

/** Time between SIGTERM and SIGKILL. */
const STOP_MS = 5000
const PROGRAM = fileURLToPath(new URL(`../cli${extname(import.meta.filename)}`, import.meta.url))
/** Compiled sources, shared by all gateways of this process: it halves what a start costs. */
let compiled: string | undefined
process.once('exit', () => {
  if (compiled !== undefined) rmSync(compiled, { recursive: true, force: true })
})

/** Starts a gateway and resolves once it listens; rejects with `StartRefused` when it will not. */
export async function startGateway({
  config,
  env = {},
  args = [],
  startMs = 20_000
}: GatewayOptions): Promise<Gateway> {
  const folder = await mkdtemp(join(tmpdir(), 'loopgate-'))
  const file = join(folder, 'gateway.yaml')
  await writeFile(file, stringify(completed(config, folder)))
  compiled ??= mkdtempSync(join(tmpdir(), 'loopgate-compiled-'))
  const command = [PROGRAM, 'serve', '--config', file, '--port', '0', ...args]
  const child = endsWithUs(
    spawn(process.execPath, command, {
      cwd: folder,
      env: { NODE_COMPILE_CACHE: compiled, ...cleanEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe']
    })
  )
  const texts: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => void texts.push(text))
  }
  const output = () => texts.join('')
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))

  const stop = async () => {
    if (isRunning(child)) child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await ended
    clearTimeout(timer)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const url = await listening(child, folder, output, startMs)
    return { url, process: child, output, isAlive: () => isRunning(child), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Resolves to the URL in the first line the process writes (contract §15). */
function listening(child: ChildProcess, folder: string, output: () => string, startMs: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const look = () => {
    const url = /"event":"server\.listening".*?"url":"([^"]+)"/.exec(output())?.[1]
    if (url !== undefined) resolve(url)
  }
  const late = () => reject(new Error(`the gateway did not listen within ${startMs} ms: ${output().trim()}`))
  const timer = setTimeout(late, startMs)
  child.stdout?.on('data', look)
  child.once('error', reject)
  // The folder is made up for this start, so its name tells nobody anything.
  const said = () => output().replaceAll(`${folder}/`, '')
  child.once('close', code => reject(new StartRefused(code ?? undefined, said())))
  return promise.finally(() => {
    clearTimeout(timer)
    child.stdout?.off('data', look)
  })
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}

function completed(config: Fields, folder: string): Fields {
  return {
    ...config,
    server: { host: '127.0.0.1', drain_ms: 1000, ...fieldsOf(config.server) },
    store: { path: join(folder, 'loopgate.db'), ...fieldsOf(config.store) },
    secrets: { key_file: join(folder, 'kek'), ...fieldsOf(config.secrets) },
    demo: { enabled: false, ...fieldsOf(config.demo) }
  }
}

/** Without what would add providers or settings that the configuration does not name. */
function cleanEnvironment(): Record<string, string | undefined> {
  const foreign = /^LOOPGATE_|_API_KEY$|_BASE_URL$|^OLLAMA_HOST$/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))
}
