import { type ParseArgsConfig, parseArgs } from 'node:util'
import { UsageError } from './usage-error.ts'

type Options = NonNullable<ParseArgsConfig['options']>

/** The options and words after a command. Throws `UsageError` for anything it does not know. */
export function optionsOf<const O extends Options>(command: string, args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (error) {
    const known = Object.keys(options).map(name => `--${name}`)
    const message = String((error as Error).message).split('. ')[0]
    throw new UsageError(`${message}. Known options of ${command}: ${known.join(', ')}.`, command)
  }
}
