/** The process: reads the configuration, listens, and stops without cutting anybody off. */
import { renameSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import { type Logger, pino } from 'pino'
import sonicBoom from 'sonic-boom'
import { type App, buildApp } from './app.ts'
import { ConfigError } from './config/config-error.ts'
import { type LoadedPlugins, loadPlugins } from './config/load-plugins.ts'
import { type Reading, readConfig } from './config/read.ts'
import type { Config } from './config/schema.ts'
import { GatewayError } from './core/errors.ts'
import { redacted, withCleanHeaders } from './telemetry/redacted.ts'

export interface ServeOptions {
  /** Configuration file; default as in `readConfig`. */
  readonly config?: string | undefined
  /** Hold over the file's. */
  readonly host?: string | undefined
  readonly port?: number | undefined
  /** The port is written there once the gateway listens. */
  readonly portFile?: string | undefined
}

/** What closing may take once nothing runs any more. */
const CLOSE_MS = 5000
/** Lines are written together, since each write costs as much as ten lines do; none waits longer than this. */
const FLUSH_MS = 100

/**
 * Starts the gateway. Resolves to 0 once it listens (the process then lives until a signal), to 1 when the
 * configuration is wrong, to 4 when it cannot listen or open its store; why is told on stderr.
 */
export async function serve({ config, host, port, portFile }: ServeOptions): Promise<number> {
  let output: Output | undefined
  try {
    const reading = readConfig({ path: config, server: { host, port } })
    const plugins = await loadPlugins(reading)
    output = heldOutput(reading.config.log.level)
    await listening({ ...reading, plugins }, output, portFile)
    return 0
  } catch (error) {
    output?.giveUp()
    return failed(error)
  }
}

interface Ready extends Reading {
  readonly plugins: LoadedPlugins
}

async function listening({ config, mode, source, plugins }: Ready, output: Output, portFile?: string): Promise<void> {
  let url = ''
  const app = await buildApp(config, { mode, log: output.log, ownUrl: () => url, plugins })
  try {
    const { host, port } = config.server
    await app.fastify.listen({ host, port })
    const bound = (app.fastify.server.address() as AddressInfo).port
    url = urlOf(host, bound)
    await app.ready()
    // Before anybody is told that it listens: whoever knows may stop it.
    stopOnSignal(app, output, config.server.drain_ms)
    if (portFile !== undefined) writePort(portFile, bound)
    output.open({ event: 'server.listening', url })
    output.log.info({
      event: 'server.ready',
      mode: mode.development ? 'development' : config.auth.mode,
      config: source
    })
    if (config.auth.mode === 'none') {
      output.log.warn({ event: 'server.open' }, 'auth.mode is none: whoever reaches the gateway may chat')
    }
    if (mode.development) output.say(welcome(config, url))
  } catch (error) {
    await app.close().catch(() => {})
    throw error
  }
}

function urlOf(host: string, port: number): string {
  // An address that stands for all cannot be called; this machine's own can.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') && !reachable.startsWith('[') ? `[${reachable}]` : reachable}:${port}`
}

/** Whoever waits for the file never sees half of it. */
function writePort(path: string, port: number): void {
  writeFileSync(`${path}.tmp`, `${port}\n`)
  renameSync(`${path}.tmp`, path)
}

function welcome(config: Config, url: string): string {
  const body = { stream: true, messages: [{ role: 'user', content: 'What is the weather in Oslo?' }] }
  return [
    `Loopgate is at ${url} in development mode: no key is needed, and only this machine is served.`,
    `The model is ${config.default_model}. Try it:`,
    '',
    `  curl -N ${url}/v1/chat/completions -H 'content-type: application/json' -d '${JSON.stringify(body)}'`,
    '',
    ''
  ].join('\n')
}

/** A log that keeps its lines until the gateway listens, so that `server.listening` is the first on stdout. */
interface Output {
  readonly log: Logger
  /** Writes this line first, whatever the level, then those that were kept. */
  open(first: object): void
  /** Plain text for whoever sits in front of it. */
  say(text: string): void
  /** The start failed: what was kept goes to stderr. */
  giveUp(): void
  /** Resolves when the lines so far are written, or cannot be. */
  flush(): Promise<void>
}

function heldOutput(level: string): Output {
  // Not `pino.destination`: as the process ends it tries to write what is left until that succeeds, so for ever where
  // nobody reads.
  const out = new sonicBoom.SonicBoom({ fd: 1, sync: false, minLength: 12_288, periodicFlush: FLUSH_MS })
  let held: string[] | undefined = []
  // Whoever read the log has gone: nothing can be written any more.
  let isBroken = false
  const broken = new Promise<void>(resolve => {
    out.on('error', () => {
      isBroken = true
      out.destroy()
      resolve()
    })
  })
  const say = (text: string) => void (isBroken || out.write(text))
  const write = (line: string) => void (held ? held.push(line) : say(line))
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }), log: redacted },
      serializers: { err: error => withCleanHeaders(pino.stdSerializers.err(error)) }
    },
    { write }
  )
  return {
    log,
    open(first) {
      const kept = held ?? []
      held = undefined
      log.child({}, { level: 'info' }).info(first)
      for (const line of kept) write(line)
      if (!isBroken) out.flush()
    },
    say,
    giveUp: () => void process.stderr.write((held ?? []).join('')),
    flush: async () => {
      const written = async () => {
        // Twice, since one that meets a write under way waits for that write alone.
        for (let i = 0; i < 2 && !isBroken; i++) await new Promise<void>(resolve => out.flush(() => resolve()))
      }
      await Promise.race([written(), broken, sleep(FLUSH_MS * 10, undefined, { ref: false })])
    }
  }
}

/** First signal: no new turns, running ones finish. Second: at once. An error nobody caught ends the process likewise. */
function stopOnSignal(app: App, output: Output, drainMs: number): void {
  const { log } = output
  const logger = { error: (error: unknown) => log.error({ err: error }) }
  closeWithGrace({ delay: drainMs + CLOSE_MS, logger }, async ({ err, signal }) => {
    if (err) log.fatal({ event: 'server.failed', err })
    log.info({ event: 'server.stopping', signal, drain_ms: drainMs })
    await app.drain(drainMs)
    // What still runs is cut now; its turn takes that as its client's leaving.
    await app.close()
    await output.flush()
  })
}

/** Says why on stderr; the exit code of contract §15. */
function failed(error: unknown): number {
  const { code, syscall, message, stack } = error as NodeJS.ErrnoException
  if (error instanceof ConfigError) process.stderr.write(`${message}\n`)
  else if (error instanceof GatewayError) process.stderr.write(`The gateway cannot start: ${message}\n`)
  else if (code === 'EADDRINUSE')
    process.stderr.write(`${message}: choose another port with --port; 0 = any free one\n`)
  else if (syscall === 'listen') process.stderr.write(`The gateway cannot listen: ${message}\n`)
  else process.stderr.write(`The gateway cannot start: ${stack ?? String(error)}\n`)
  const isStore = error instanceof GatewayError && error.code === 'store_unavailable'
  return syscall !== undefined || isStore ? 4 : 1
}
