import { resolve } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import { readConfig } from '../config/read.ts'
import { GatewayError } from '../core/errors.ts'
import { optionsOf } from './options.ts'
import type { Output } from './output.ts'
import { UsageError } from './usage-error.ts'

/** What a command on the database's file does; returns what it tells. Throws `store_unavailable` when it cannot. */
export type StoreAction = (database: string, file: string) => Promise<string>

export interface StoreCommand {
  readonly name: 'backup' | 'restore'
  /** The option that names the other file. */
  readonly option: 'to' | 'from'
}

/** `loopgate backup` and `loopgate restore`: 0 done, 1 the configuration is wrong, 4 the files are. */
export async function storeCommand(
  { name, option }: StoreCommand,
  args: readonly string[],
  act: StoreAction,
  { out, err }: Output
): Promise<number> {
  const { values, positionals } = optionsOf(name, args, { config: { type: 'string' }, [option]: { type: 'string' } })
  const given: Readonly<Record<string, string | boolean | undefined>> = values
  const file = given[option]
  if (typeof file !== 'string' || file === '' || positionals.length > 0) {
    throw new UsageError(`${name} needs a file: loopgate ${name} --${option} loopgate-backup.db.`, name)
  }
  try {
    const path = typeof given.config === 'string' ? given.config : undefined
    const { config } = readConfig({ path })
    out(`${await act(resolve(config.store.path), resolve(file))}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof GatewayError)) throw error
    err(`${error.message}\n`)
    return error instanceof ConfigError ? 1 : 4
  }
}
