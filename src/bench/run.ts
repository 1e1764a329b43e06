/**
 * `npm run bench -- quick [--json]`: CPU time a request of Loopgate and of a bare proxy beside it, in the same run.
 * `npm run bench -- state [--json]`: CPU time of what is kept: a store on disk and one in memory, in the same run.
 * Read ratios and differences: CPU time moves by a fifth with what else the machine does, and wall time by much more.
 * Linux only.
 */
import type { Figure } from './figure.ts'
import { type QuickReport, quick, SCENARIOS } from './quick.ts'
import { STATE_SCENARIOS, type StateReport, state } from './state.ts'

const [what, ...options] = process.argv.slice(2)
const asJson = options.includes('--json')
if ((what !== 'quick' && what !== 'state') || options.some(option => option !== '--json')) {
  console.error('usage: npm run bench -- quick|state [--json]')
  process.exit(2)
}
if (process.platform !== 'linux') {
  console.error('the bench reads CPU times from /proc and runs on Linux only')
  process.exit(2)
}
if (what === 'quick') print(await quick(), quickTable)
else print(await state(), stateTable)

function print<T extends object>(report: T, table: (report: T) => string): void {
  console.log(asJson ? JSON.stringify(report, null, 2) : table(report))
}

function line(name: string, cells: readonly (string | number)[]): string {
  return [name.padEnd(24), ...cells.map(cell => String(cell).padStart(12))].join('')
}

function title({ machine, rounds }: Pick<QuickReport, 'machine' | 'rounds'>): string {
  return `${machine.model}, ${machine.cpus} cores, Node ${machine.node}, medians of ${rounds} rounds`
}

function speeds({ requests_per_s, p50_us, p99_us }: Figure): readonly number[] {
  return [Math.round(requests_per_s), p50_us, p99_us]
}

function quickTable(report: QuickReport): string {
  const { ratios, loopgate, bare } = report
  const row = (name: string, figure: Figure, ratio: number) => line(name, [figure.cpu_us, ratio, ...speeds(figure)])
  return [
    title(report),
    line('', ['cpu µs', '× bare', 'requests/s', 'p50 µs', 'p99 µs']),
    row('bare, call', bare.plain_call, 1),
    row('bare, stream', bare.plain_stream, 1),
    ...SCENARIOS.map(name => row(`loopgate, ${name.replace('_', ' ')}`, loopgate[name], ratios[name]))
  ].join('\n')
}

function stateTable(report: StateReport): string {
  const { memory, disk, over_memory_us, over_stateless_us } = report
  return [
    title(report),
    line('', ['in memory µs', 'on disk µs', 'over it µs', 'requests/s', 'p50 µs', 'p99 µs']),
    ...STATE_SCENARIOS.map(name =>
      line(name.replace('_', ', '), [
        memory[name].cpu_us,
        disk[name].cpu_us,
        over_memory_us[name],
        ...speeds(disk[name])
      ])
    ),
    `a session over none, on disk: plain ${over_stateless_us.plain} µs, with a tool ${over_stateless_us.tool} µs`
  ].join('\n')
}
