/**
 * `npm run bench -- quick [--json]`: CPU time a request of Loopgate and of a bare proxy beside it, in the same run.
 * Read the ratios: CPU time moves by a fifth with what else the machine does, and wall time by much more. Linux only.
 */
import { type Figure, type QuickReport, quick, SCENARIOS } from './quick.ts'

const [what, ...options] = process.argv.slice(2)
const asJson = options.includes('--json')
if (what !== 'quick' || options.some(option => option !== '--json')) {
  console.error('usage: npm run bench -- quick [--json]')
  process.exit(2)
}
if (process.platform !== 'linux') {
  console.error('the bench reads CPU times from /proc and runs on Linux only')
  process.exit(2)
}
const report = await quick()
console.log(asJson ? JSON.stringify(report, null, 2) : table(report))

function table({ ratios, loopgate, bare, machine, rounds }: QuickReport): string {
  const line = (name: string, { cpu_us, requests_per_s, p50_us, p99_us }: Figure, ratio: string) =>
    [
      name.padEnd(22),
      ...[cpu_us, ratio, Math.round(requests_per_s), p50_us, p99_us].map(cell => String(cell).padStart(12))
    ].join('')
  return [
    `${machine.model}, ${machine.cpus} cores, Node ${machine.node}, medians of ${rounds} rounds`,
    ['', 'cpu µs', '× bare', 'requests/s', 'p50 µs', 'p99 µs']
      .map((cell, i) => (i ? cell.padStart(12) : cell.padEnd(22)))
      .join(''),
    line('bare, call', bare.plain_call, '1'),
    line('bare, stream', bare.plain_stream, '1'),
    ...SCENARIOS.map(name => line(`loopgate, ${name.replace('_', ' ')}`, loopgate[name], String(ratios[name])))
  ].join('\n')
}
