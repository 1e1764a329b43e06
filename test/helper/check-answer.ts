import type { Test } from 'tap'
import type { ClientAnswer, ClientCase } from './client-cases.ts'
import type { TwoGateways } from './two-gateways.ts'

export interface Checked {
  readonly each: ClientCase
  readonly got: ClientAnswer
  readonly toolCalls: TwoGateways['toolCalls']
}

/** The text, the finish, the rounds, the tools that were really called, and the usage of all rounds added up. */
export function checkAnswer(t: Test, title: string, { each, got, toolCalls }: Checked): void {
  t.test(title, async t => {
    t.ok(got.text.includes(each.answer), `says ${each.answer}: ${got.text}`)
    t.equal(got.finish, 'stop')
    t.equal(got.loopgate.rounds, each.rounds)
    t.strictSame(
      toolCalls.map(({ data }) => data.call.tool),
      each.called
    )
    const sum = (field: keyof ClientAnswer['usage']) =>
      got.loopgate.round_list.reduce((total, { usage }) => total + usage[field], 0)
    t.equal(got.loopgate.round_list.length, each.rounds)
    for (const field of ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const) {
      t.equal(got.usage[field], sum(field), `${field} is the sum over the rounds`)
    }
  })
}
