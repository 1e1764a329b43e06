import t from 'tap'
import { parse } from 'yaml'
import { effectiveYaml } from '../../src/config/effective.ts'
import { readConfig } from '../../src/config/read.ts'

t.test('the chain is the one that is given, and what is given is what the effective configuration shows', async t => {
  const chainOf = (text: string) =>
    parse(effectiveYaml(readConfig({ cwd: t.testdir({ 'gateway.yaml': text }), env: {} }).config)).chain
  t.strictSame(
    chainOf('log: { level: warn }'),
    {
      turn: ['audit', 'memory', 'structured-output'],
      call: ['tool-search', 'meter', 'retry'],
      loop: 'tool-loop'
    },
    'by default memory stands around the loop, and tool search inside it'
  )
  const given = { turn: ['memory', 'audit'], call: ['retry', 'meter'], loop: 'tool-loop' }
  t.strictSame(chainOf(`chain: ${JSON.stringify(given)}`), given)
})
