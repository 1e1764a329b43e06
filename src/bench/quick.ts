import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { BENCH_KEY, benchConfig } from './bench-config.ts'
import { type Child, runChild, startChild } from './child.ts'
import { type Figure, figureOf } from './figure.ts'
import type { LoadOrder, LoadResult } from './load.ts'

const HERE = import.meta.dirname
const QUESTION = 'What is the weather in Paris? '.repeat(34)

export const SCENARIOS = ['plain_call', 'plain_stream', 'tool_call', 'tool_stream'] as const
export type Scenario = (typeof SCENARIOS)[number]

export interface QuickReport {
  /** CPU of Loopgate over CPU of the bare proxy for a plain request of the same mode, in the same run. */
  readonly ratios: Readonly<Record<Scenario, number>>
  readonly loopgate: Readonly<Record<Scenario, Figure>>
  readonly bare: Readonly<Record<'plain_call' | 'plain_stream', Figure>>
  readonly machine: { readonly cpus: number; readonly model: string; readonly node: string }
  readonly rounds: number
}

export interface QuickOptions {
  /** Each round measures every scenario of both once. */
  readonly rounds?: number
  /** Of the first round, at most. Short of some thousand requests it is the compiler at work that is measured. */
  readonly warmupMs?: number
  /** Of each scenario; more on a machine so busy that few requests are answered. */
  readonly measureMs?: number
}

const WARM_REQUESTS = 10_000
/** A process that stood still while the other was measured comes back to its pace within so many. */
const REWARM_REQUESTS = 300
/** Of fewer the CPU time cannot be told, for it is counted in steps of 10 ms. */
const LEAST_REQUESTS = 500
const LONGEST_MS = 30_000

/** Starts everything, drives both proxies in turn for some rounds, stops everything. Rejects on a wrong answer. */
export async function quick({
  rounds = 3,
  warmupMs = 8000,
  measureMs = 1500
}: QuickOptions = {}): Promise<QuickReport> {
  const folder = mkdtempSync(join(tmpdir(), 'loopgate-bench-'))
  const children: Child[] = []
  const start = async (core: number, script: string, ...parameters: string[]) => {
    const child = await startChild(core, script, parameters)
    children.push(child)
    return child
  }
  try {
    const upstream = await start(1, join(HERE, 'mock-upstream.ts'))
    const bare = await start(0, join(HERE, 'bare-proxy.ts'), upstream.url)
    const config = join(folder, 'gateway.yaml')
    writeFileSync(config, benchConfig(upstream.url, folder))
    const loopgate = await start(0, join(HERE, '../cli.ts'), 'serve', '--config', config, '--port', '0')
    return report(await measured({ bare, loopgate }, { rounds, warmupMs, measureMs }), rounds)
  } finally {
    await Promise.all(children.map(child => child.stop()))
    rmSync(folder, { recursive: true })
  }
}

type Results = Map<string, LoadResult[]>

async function measured(
  targets: { bare: Child; loopgate: Child },
  { rounds, ...times }: Required<QuickOptions>
): Promise<Results> {
  const results: Results = new Map()
  for (let round = 0; round < rounds; round++) {
    for (const scenario of SCENARIOS) {
      for (const [name, target] of Object.entries(targets)) {
        if (name === 'bare' && scenario.startsWith('tool')) continue
        const load: LoadOrder = {
          ...order(target, scenario),
          ...times,
          warmupRequests: round === 0 ? WARM_REQUESTS : REWARM_REQUESTS,
          longestMs: LONGEST_MS,
          leastRequests: LEAST_REQUESTS
        }
        const result = await runChild<LoadResult>(1, join(HERE, 'load.ts'), [JSON.stringify(load)])
        if (result.errors > 0) throw new Error(`${name}, ${scenario}: ${result.errors} bad answers: ${result.error}`)
        results.set(`${name} ${scenario}`, [...(results.get(`${name} ${scenario}`) ?? []), result])
      }
    }
  }
  return results
}

function order({ url, pid }: Child, scenario: Scenario) {
  const isStream = scenario.endsWith('stream')
  const isTool = scenario.startsWith('tool')
  const body = {
    model: 'bench',
    messages: [{ role: 'user', content: isTool ? `${QUESTION}@@tool@@` : QUESTION }],
    ...(isStream && { stream: true, stream_options: { include_usage: true } }),
    ...(isTool && { loopgate: { tools: ['get_weather'] } })
  }
  return {
    url,
    pid,
    key: BENCH_KEY,
    body,
    expect: isStream ? '[DONE]' : '"stop"',
    connections: isStream ? 8 : 32
  }
}

function report(results: Results, rounds: number): QuickReport {
  const figure = (name: string) => figureOf(results.get(name) ?? [])
  const bare = { plain_call: figure('bare plain_call'), plain_stream: figure('bare plain_stream') }
  const entries = SCENARIOS.map(scenario => [scenario, figure(`loopgate ${scenario}`)] as const)
  const ratio = (scenario: Scenario, { cpu_us }: Figure) =>
    round(cpu_us / bare[scenario.endsWith('stream') ? 'plain_stream' : 'plain_call'].cpu_us, 2)
  return {
    ratios: Object.fromEntries(entries.map(([name, value]) => [name, ratio(name, value)])) as QuickReport['ratios'],
    loopgate: Object.fromEntries(entries) as QuickReport['loopgate'],
    bare,
    machine: { cpus: cpus().length, model: cpus()[0]?.model ?? '', node: process.version },
    rounds
  }
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
