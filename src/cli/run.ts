/** The command line: which command, what it is given, what its exit code is. */
import { nearest } from '../config/nearest.ts'
import { cases } from './cases.ts'
import { check } from './check.ts'
import { COMMANDS, help } from './help.ts'
import type { Output } from './output.ts'
import { type Start, serve } from './serve.ts'
import { type StoreAction, storeCommand } from './store-command.ts'
import { UsageError } from './usage-error.ts'

/** What the command line needs of its process. */
export interface Process extends Output {
  /** Of this package. */
  readonly version: string
  /** Starts the gateway; resolves to 0 once it listens, else to the exit code. */
  readonly start: (options: Start) => Promise<number>
  /** Copies the database to a new file. */
  readonly backup: StoreAction
  /** Puts a copy of the file in the place of the database. */
  readonly restore: StoreAction
}

/** `args` without node and script. Resolves to the exit code; 2 for wrong usage, told on `err`. */
export async function run(args: readonly string[], output: Process): Promise<number> {
  try {
    return await dispatch(args, output)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const more = error.command === undefined ? 'loopgate help' : `loopgate help ${error.command}`
    output.err(`${error.message}\nSee: ${more}\n`)
    return 2
  }
}

async function dispatch([command, ...args]: readonly string[], output: Process): Promise<number> {
  if (command === undefined) throw new UsageError(`Which command? There are ${COMMANDS.join(', ')}.`)
  if (command === 'help' || command === '--help' || command === '-h') return teach(args[0], output)
  if (command === '--version' || command === '-v') return tell(output.version, output)
  if (args.includes('--help') || args.includes('-h')) return teach(command, output)
  if (command === 'serve') return serve(args, output.start)
  if (command === 'check') return check(args, output)
  if (command === 'cases') return cases(args)
  if (command === 'backup') return storeCommand({ name: command, option: 'to' }, args, output.backup, output)
  if (command === 'restore') return storeCommand({ name: command, option: 'from' }, args, output.restore, output)
  throw unknown(command)
}

function tell(text: string, { out }: Output): number {
  out(`${text}\n`)
  return 0
}

function teach(command: string | undefined, { out }: Output): number {
  if (command !== undefined && !COMMANDS.includes(command)) throw unknown(command)
  out(help(command))
  return 0
}

function unknown(command: string): UsageError {
  const meant = nearest(command, COMMANDS)
  const hint = meant === undefined ? `There are ${COMMANDS.join(', ')}` : `Did you mean ${meant}`
  return new UsageError(`There is no command ${command}. ${hint}${meant === undefined ? '.' : '?'}`)
}
