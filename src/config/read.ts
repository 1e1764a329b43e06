/** From a file to a configuration: found, filled in, checked and completed; all errors at once. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { complete } from './complete.ts'
import { ConfigError, type Problem } from './config-error.ts'
import { crossChecks } from './cross-checks.ts'
import { type YamlFile, yamlFile } from './document.ts'
import { type Interpolation, interpolate } from './interpolate.ts'
import { type Mode, modeOf, openToAll } from './mode.ts'
import { type Path, pathText } from './path.ts'
import { pricesFile } from './prices-file.ts'
import type { Config, ConfigInput } from './schema.ts'
import { type Origin, type Validated, validate } from './validate.ts'
import type { Wrong } from './wrong.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface ReadOptions {
  /** `--config`. Else `LOOPGATE_CONFIG`, else `./gateway.yaml` if there, else demo mode. */
  readonly path?: string | undefined
  readonly env?: Env
  /** Where relative paths are seen from. Default: the working directory. */
  readonly cwd?: string
  /** Hold over the file: `--host` and `--port`. */
  readonly server?: { readonly host?: string | undefined; readonly port?: number | undefined }
}

export interface Reading {
  readonly config: Config
  readonly mode: Mode
  /** The file as it was named; absent without one (demo mode, contract §10). */
  readonly source?: string
  /** What errors call it. */
  readonly file: string
  /** Where relative paths of plugins are seen from. */
  readonly folder: string
  /** The line of a place in it, from 1. */
  line(path: Path): number | undefined
}

const MAX_BYTES = 16 * 1024 * 1024

/** Without a file: a gateway that shows what it does, without any key. */
const DEMO: ConfigInput = {
  default_model: 'sim',
  session: { required: false },
  tool_search: { mode: 'on' },
  demo: { enabled: true }
}

/** Throws `ConfigError` with everything that is wrong. */
export function readConfig({ path, env = process.env, cwd = process.cwd(), server = {} }: ReadOptions = {}): Reading {
  const found = existsSync(resolve(cwd, 'gateway.yaml')) ? 'gateway.yaml' : undefined
  const source = path ?? (env.LOOPGATE_CONFIG || found)
  const context = {
    env,
    server,
    file: source ?? 'configuration',
    folder: dirname(resolve(cwd, source ?? 'gateway.yaml'))
  }
  if (source === undefined) return finish(validate(DEMO, nowhere), nowhere, { ...context, demo: true })

  const full = resolve(cwd, source)
  const yaml = yamlFile(textOf(full, source))
  if (yaml.problems.length > 0) throw new ConfigError(source, yaml.problems)
  const filling = interpolate(yaml, env, dirname(full))
  const origin = originOf(yaml, filling)
  const checked = validate(dataOf(yaml, source), origin)
  const problems = [...filling.problems, ...checked.problems]
  const reading = finish({ ...checked, problems }, origin, { ...context, demo: false })
  return { ...reading, source }
}

interface Context {
  readonly env: Env
  readonly server: NonNullable<ReadOptions['server']>
  readonly file: string
  readonly folder: string
  readonly demo: boolean
}

/** The checks across sections, then either everything that is wrong or the configuration as it will be used. */
function finish(checked: Validated, origin: Origin, { env, server, file, folder, demo }: Context): Reading {
  const problems: Problem[] = [...checked.problems]
  const priced = checked.config && withPricesFile(checked.config, folder)
  const base = priced && complete(priced.config, env, { demo, adminKeySaid: origin.said(['auth', 'admin_key']) })
  const config = base && {
    ...base,
    server: { ...base.server, host: server.host ?? base.server.host, port: server.port ?? base.server.port }
  }
  if (config) {
    const open = openToAll(config)
    const wrong = [
      ...priced.wrong,
      ...crossChecks(config, checked.lost),
      ...(open ? [{ path: ['server', 'host'], message: open }] : [])
    ]
    for (const { path, message } of wrong) {
      const line = origin.line(path)
      if (!checked.places.has(pathText(path))) problems.push({ path: pathText(path), ...(line && { line }), message })
    }
  }
  if (!config || problems.length > 0) throw new ConfigError(file, problems)
  return { config, mode: modeOf(config), file, folder, line: path => origin.line(path) }
}

/** Prices of the file join those that stand here, which hold over them. */
function withPricesFile(config: Config, folder: string): { readonly config: Config; readonly wrong: readonly Wrong[] } {
  const { file, overrides } = config.prices
  if (file === undefined) return { config, wrong: [] }
  const read = pricesFile(folder, file)
  if (!read.ok) return { config, wrong: read.messages.map(message => ({ path: ['prices', 'file'], message })) }
  return { config: { ...config, prices: { file, overrides: { ...read.prices, ...overrides } } }, wrong: [] }
}

const nowhere: Origin = { line: () => undefined, filled: () => false, broken: () => false, said: () => false }

function originOf(yaml: YamlFile, { filled, broken }: Interpolation): Origin {
  return {
    line: yaml.line,
    filled: path => filled.has(yaml.node(path)),
    broken: path => broken.has(yaml.node(path)),
    said: path => yaml.node(path) !== undefined
  }
}

function textOf(path: string, file: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'there is no such file' : message
    throw new ConfigError(file, [{ path: '', message: `cannot be read: ${reason}` }])
  }
  if (bytes.length > MAX_BYTES)
    throw new ConfigError(file, [{ path: '', message: `is longer than ${MAX_BYTES} bytes` }])
  return bytes.toString('utf8')
}

function dataOf(yaml: YamlFile, file: string): unknown {
  try {
    return yaml.data()
  } catch (error) {
    throw new ConfigError(file, [{ path: '', message: `repeats too much by aliases: ${(error as Error).message}` }])
  }
}
