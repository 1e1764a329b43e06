import { optionsOf } from './options.ts'
import { UsageError } from './usage-error.ts'

const KINDS = ['wire', 'loop', 'tool-search'] as const
const MODES = ['recorded', 'call', 'stream'] as const

const OPTIONS = {
  only: { type: 'string' },
  expect: { type: 'string' },
  mode: { type: 'string' },
  json: { type: 'boolean' }
} as const

/** `loopgate cases`: 0 when every case passed, else 1. */
export async function cases(args: readonly string[]): Promise<number> {
  const { values, positionals } = optionsOf('cases', args, OPTIONS)
  const [kind, folder, ...more] = positionals
  if (kind === undefined || folder === undefined || more.length > 0) {
    throw new UsageError('cases needs a kind and a folder: loopgate cases loop test/cases/loop.', 'cases')
  }
  const known = oneOf(KINDS, kind, 'The kind')
  const mode = values.mode === undefined ? undefined : oneOf(MODES, values.mode, '--mode')
  const only = values.only?.split(',').filter(part => part !== '')
  const { runCases } = await import('../cases/run.ts')
  return runCases(known, folder, {
    ...(only && { only }),
    ...(values.expect !== undefined && { expect: values.expect }),
    ...(mode && { mode }),
    json: values.json ?? false
  })
}

function oneOf<const T extends readonly string[]>(known: T, word: string, what: string): T[number] {
  if (known.includes(word)) return word
  throw new UsageError(`${what} must be one of ${known.join(', ')}, not ${word}.`, 'cases')
}
