import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import t from 'tap'
import { endsWithUs } from '../../src/cases/ends-with-us.ts'
import { checkAnswer } from '../helper/check-answer.ts'
import { type ClientAnswer, clientCases } from '../helper/client-cases.ts'
import { pythonEnvironment } from '../helper/python-environment.ts'
import { twoGateways } from '../helper/two-gateways.ts'
import { want } from '../helper/want.ts'

// Starts processes, which takes a while on a busy machine.
t.setTimeout(300_000)

t.test('the official SDK for Python gets one clean answer, whatever it took', want('python3'), async t => {
  const python = pythonEnvironment()
  const gateways = await twoGateways()
  t.teardown(() => gateways.stop())

  const asks = clientCases.flatMap(each =>
    ['call', 'stream'].map(mode => ({
      each,
      mode,
      question: each.question,
      session: `python-${mode}-${each.name.replaceAll(' ', '-')}`,
      loopgate: { ...each.loopgate, include: ['rounds', 'events'] }
    }))
  )
  const order = JSON.stringify({ url: gateways.front.url, asks })
  const child = endsWithUs(spawn(python, ['test/clients/ask.py', order], { stdio: ['ignore', 'pipe', 'inherit'] }))
  const ended = new Promise(resolve => child.once('exit', resolve))
  let at = 0
  let seen = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const { each, mode } = asks[at++] as (typeof asks)[number]
    const got: ClientAnswer & { events: readonly string[] } = JSON.parse(line)
    const ends = got.events.filter(type => type === 'round.end').length
    t.equal(ends, mode === 'stream' ? each.rounds : 0, 'events come on chunks that the SDK survives')
    // The next question may be on its way already: what this one called are the next of those that came.
    const toolCalls = gateways.toolCalls.slice(seen, seen + each.called.length)
    seen += each.called.length
    checkAnswer(t, `${mode}, ${each.name}`, { each, got, toolCalls })
  }
  t.equal(await ended, 0)
  t.equal(at, asks.length, 'every question was answered')
  t.equal(gateways.toolCalls.length, seen, 'no tool was called twice')
})
