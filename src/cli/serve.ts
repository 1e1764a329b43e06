import { optionsOf } from './options.ts'
import { UsageError } from './usage-error.ts'

const OPTIONS = {
  config: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  'port-file': { type: 'string' }
} as const

/** What `serve` was told; absent fields are the file's to say. */
export interface Start {
  readonly config?: string | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly portFile?: string | undefined
}

/**
 * `loopgate serve`: `start` loads and starts the gateway (only then: check and help stay quick). Resolves once it
 * listens (0), or to the exit code of a start that failed.
 */
export function serve(args: readonly string[], start: (options: Start) => Promise<number>): Promise<number> {
  const { values, positionals } = optionsOf('serve', args, OPTIONS)
  if (positionals.length > 0) throw new UsageError(`serve takes no word such as ${positionals[0]}.`, 'serve')
  if (values.host === '') throw new UsageError('--host needs an address.', 'serve')
  const port = portOf(values.port)
  return start({ config: values.config, host: values.host, port, portFile: values['port-file'] })
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new UsageError('--port must be 0 to 65535; 0 = any free one.', 'serve')
}
