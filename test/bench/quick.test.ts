import t from 'tap'
import { quick, SCENARIOS } from '../../src/bench/quick.ts'

t.setTimeout(300_000)

t.test('a short run of the bench has a figure and a ratio for each scenario', async t => {
  const report = await quick({ rounds: 1, warmupMs: 300, measureMs: 300 })
  for (const scenario of SCENARIOS) {
    t.ok(report.ratios[scenario] > 0, `${scenario}: ${report.ratios[scenario]} × bare`)
    t.ok(report.loopgate[scenario].requests_per_s > 0)
  }
  t.ok(report.bare.plain_call.cpu_us > 0 && report.bare.plain_stream.cpu_us > 0)
  t.equal(report.machine.node, process.version)
})
