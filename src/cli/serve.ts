import { optionsOf } from './options.ts'
import { UsageError } from './usage-error.ts'

const OPTIONS = {
  config: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  'port-file': { type: 'string' }
} as const

/** `loopgate serve`: resolves once the gateway listens (0), or to the exit code of a start that failed. */
export async function serve(args: readonly string[]): Promise<number> {
  const { values, positionals } = optionsOf('serve', args, OPTIONS)
  if (positionals.length > 0) throw new UsageError(`serve takes no word such as ${positionals[0]}.`, 'serve')
  if (values.host === '') throw new UsageError('--host needs an address.', 'serve')
  const port = portOf(values.port)
  // Everything the gateway is made of loads only here: check and help stay quick.
  const server = await import('../server.ts')
  return server.serve({ config: values.config, host: values.host, port, portFile: values['port-file'] })
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new UsageError('--port must be 0 to 65535; 0 = any free one.', 'serve')
}
