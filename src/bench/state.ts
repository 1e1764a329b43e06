import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { BENCH_KEY, benchConfig } from './bench-config.ts'
import { type Child, runChild, startChild } from './child.ts'
import { type Figure, figureOf } from './figure.ts'
import type { LoadOrder, LoadResult } from './load.ts'

const HERE = import.meta.dirname
const QUESTION = 'What is the weather in Paris? '
const CONNECTIONS = 32
const TURNS_OF_SESSION = 8

/** A turn that has a session or none, and that calls a tool or none. */
export const STATE_SCENARIOS = ['plain', 'plain_session', 'tool', 'tool_session'] as const
export type StateScenario = (typeof STATE_SCENARIOS)[number]

export interface StateReport {
  /** With a database that is in memory only, and with one on disk where what was acknowledged survives a power cut. */
  readonly memory: Readonly<Record<StateScenario, Figure>>
  readonly disk: Readonly<Record<StateScenario, Figure>>
  /** CPU time of a turn on disk over one in memory, µs. */
  readonly over_memory_us: Readonly<Record<StateScenario, number>>
  /** CPU time of a turn of a session over one without, both on disk, µs: with what memory reads, and sends to the model. */
  readonly over_stateless_us: { readonly plain: number; readonly tool: number }
  readonly machine: { readonly cpus: number; readonly model: string; readonly node: string }
  readonly rounds: number
}

export interface StateOptions {
  readonly rounds?: number
  /** Of every load, at most, before it is measured; three times as long in the first round. */
  readonly warmupMs?: number
  readonly measureMs?: number
}

type Results = Record<StateScenario, LoadResult[]>

/**
 * What keeping costs: two gateways that differ in their store only are driven in turn by 32 clients at once, for some
 * rounds; all is stopped at the end. Rejects on a wrong answer.
 */
export async function state({
  rounds = 5,
  warmupMs = 2000,
  measureMs = 2000
}: StateOptions = {}): Promise<StateReport> {
  const folder = mkdtempSync(join(tmpdir(), 'loopgate-bench-'))
  const children: Child[] = []
  const start = async (core: number, script: string, ...parameters: string[]) => {
    const child = await startChild(core, join(HERE, script), parameters)
    children.push(child)
    return child
  }
  const gateway = (name: string, upstream: Child, store: string) => {
    const config = join(folder, `${name}.yaml`)
    writeFileSync(config, benchConfig(upstream.url, folder, store))
    return start(0, '../cli.ts', 'serve', '--config', config, '--port', '0')
  }
  try {
    const upstream = await start(1, 'mock-upstream.ts')
    const memory = { gateway: await gateway('memory', upstream, ':memory:'), results: noResults() }
    const disk = { gateway: await gateway('disk', upstream, join(folder, 'disk.db')), results: noResults() }
    for (let round = 0; round < rounds; round++) {
      for (const scenario of STATE_SCENARIOS) {
        for (const { gateway, results } of [memory, disk]) {
          results[scenario].push(
            await load(gateway, scenario, { warmupMs: round === 0 ? 3 * warmupMs : warmupMs, measureMs })
          )
        }
      }
    }
    return report(figures(memory.results), figures(disk.results), rounds)
  } finally {
    await Promise.all(children.map(child => child.stop()))
    rmSync(folder, { recursive: true })
  }
}

async function load({ url, pid }: Child, scenario: StateScenario, times: Required<Omit<StateOptions, 'rounds'>>) {
  const isTool = scenario.startsWith('tool')
  const order: LoadOrder = {
    ...{ url, pid, key: BENCH_KEY, connections: CONNECTIONS, expect: '"stop"' },
    body: {
      model: 'bench',
      messages: [{ role: 'user', content: isTool ? `${QUESTION}@@tool@@` : QUESTION }],
      ...(isTool && { loopgate: { tools: ['get_weather'] } })
    },
    ...(scenario.endsWith('session') && { turnsOfSession: TURNS_OF_SESSION }),
    ...times,
    ...{ warmupRequests: 5000, longestMs: 30_000, leastRequests: 500 }
  }
  const result = await runChild<LoadResult>(1, join(HERE, 'load.ts'), [JSON.stringify(order)])
  if (result.errors > 0) throw new Error(`${scenario}: ${result.errors} bad answers: ${result.error}`)
  return result
}

function noResults(): Results {
  return { plain: [], plain_session: [], tool: [], tool_session: [] }
}

function figures(results: Results): Record<StateScenario, Figure> {
  const { plain, plain_session, tool, tool_session } = results
  return {
    plain: figureOf(plain),
    plain_session: figureOf(plain_session),
    tool: figureOf(tool),
    tool_session: figureOf(tool_session)
  }
}

function report(memory: StateReport['memory'], disk: StateReport['disk'], rounds: number): StateReport {
  const difference = (a: Figure, b: Figure) => Number((a.cpu_us - b.cpu_us).toFixed(1))
  const over = (name: StateScenario) => difference(disk[name], memory[name])
  return {
    ...{ memory, disk, rounds },
    over_memory_us: {
      plain: over('plain'),
      plain_session: over('plain_session'),
      tool: over('tool'),
      tool_session: over('tool_session')
    },
    over_stateless_us: {
      plain: difference(disk.plain_session, disk.plain),
      tool: difference(disk.tool_session, disk.tool)
    },
    machine: { cpus: cpus().length, model: cpus()[0]?.model ?? '', node: process.version }
  }
}
