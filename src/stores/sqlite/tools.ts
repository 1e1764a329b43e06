import type { StatementSync } from 'node:sqlite'
import { GatewayError } from '../../core/errors.ts'
import type { ToolRow, ToolStore } from '../contracts.ts'
import type { Engine } from './engine.ts'

const NEWEST = `SELECT tenant, name, version, state, definition, secrets, created_ms
  FROM tools JOIN tool_versions USING (version) WHERE tool = n`

export class SqliteTools implements ToolStore {
  readonly #engine: Engine
  readonly #list: StatementSync
  readonly #tenants: StatementSync
  readonly #get: StatementSync
  readonly #find: StatementSync
  readonly #insert: StatementSync
  readonly #update: StatementSync
  readonly #insertVersion: StatementSync
  readonly #setState: StatementSync

  constructor(engine: Engine) {
    this.#engine = engine
    this.#list = engine.prepare(`${NEWEST} AND tenant = ? AND state <> 'retired' ORDER BY n`)
    this.#tenants = engine.prepare('SELECT DISTINCT tenant FROM tools ORDER BY tenant')
    this.#get = engine.prepare(`${NEWEST} AND tenant = ? AND name_key = ? AND name = ?`)
    this.#find = engine.prepare('SELECT n, version FROM tools WHERE tenant = ? AND name_key = ?')
    this.#insert = engine.prepare(
      'INSERT INTO tools (tenant, name_key, name, version, state) VALUES (?, ?, ?, ?, ?) RETURNING n'
    )
    this.#update = engine.prepare('UPDATE tools SET name = ?, version = ?, state = ? WHERE n = ?')
    this.#insertVersion = engine.prepare(
      'INSERT INTO tool_versions (tool, version, definition, secrets, created_ms) VALUES (?, ?, ?, ?, ?)'
    )
    this.#setState = engine.prepare('UPDATE tools SET state = ? WHERE tenant = ? AND name_key = ? AND name = ?')
  }

  async list(tenant: string): Promise<readonly ToolRow[]> {
    return this.#engine.read(() => this.#list.all(tenant).map(asToolRow))
  }

  async tenants(): Promise<readonly string[]> {
    return this.#engine.read(() => this.#tenants.all().map(({ tenant }) => tenant as string))
  }

  async get(tenant: string, name: string): Promise<ToolRow | undefined> {
    return this.#engine.read(() => {
      const row = this.#get.get(tenant, keyOf(name), name)
      return row && asToolRow(row)
    })
  }

  put(row: ToolRow, previousVersion: number): Promise<void> {
    return this.#engine.write(() => {
      const n = this.#register(row, previousVersion)
      this.#insertVersion.run(n, row.version, row.definition, row.secrets, row.createdAt)
    })
  }

  setState(tenant: string, name: string, state: ToolRow['state']): Promise<void> {
    return this.#engine.write(() => {
      this.#setState.run(state, tenant, keyOf(name), name)
    })
  }

  #register({ tenant, name, version, state }: ToolRow, previousVersion: number): number {
    const known = this.#find.get(tenant, keyOf(name)) as { n: number; version: number } | undefined
    if (previousVersion === 0) {
      if (known) throw taken(name)
      return (this.#insert.get(tenant, keyOf(name), name, version, state) as { n: number }).n
    }
    if (known?.version !== previousVersion) throw stale(name, known?.version)
    this.#update.run(name, version, state, known.n)
    return known.n
  }
}

/** Names are unique in a tenant whatever their case. */
function keyOf(name: string): string {
  return name.toLowerCase()
}

function taken(name: string): GatewayError {
  return new GatewayError('tool_name_taken', `There is a tool named ${name} already; names ignore case.`, {
    param: 'name',
    reason: 'collision'
  })
}

function stale(name: string, version: number | undefined): GatewayError {
  const now = version === undefined ? 'it is not there any more' : `its version is ${version} now`
  return new GatewayError('version_conflict', `The tool ${name} was changed meanwhile: ${now}.`)
}

function asToolRow(row: Record<string, unknown>): ToolRow {
  const { tenant, name, version, state, definition, secrets, created_ms: createdAt } = row
  return { tenant, name, version, state, definition, secrets, createdAt } as ToolRow
}
