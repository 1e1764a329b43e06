/**
 * An evaluation loop: a second model judges each answer, and the first is asked again with the judge's reason until an
 * answer passes or the retries are used up. Listed under `chain.turn`, after memory:
 *
 *   chain: { turn: [audit, memory, evaluation] }
 *   plugins: [{ path: ./plugins/evaluation.ts, options: { judge: gpt-5-mini } }]
 */
import {
  type Answer,
  defineAdvisor,
  extend,
  type Message,
  newMessage,
  replay,
  type Turn,
  textOf,
  withUsageOf
} from 'loopgate'
import { z } from 'zod'

const INSTRUCTIONS =
  'You judge whether an answer is right, complete and to the point. Reply with PASS if it is. Otherwise reply with ' +
  'FAIL: and, in one sentence, what is wrong with it.'

export default defineAdvisor({
  name: 'evaluation',
  places: ['turn'],
  options: z.strictObject({
    judge: z.string().describe('Model that judges, by the name that clients use.'),
    max_retries: z.int().min(0).max(10).default(2).describe('How often the first model is asked again.'),
    instructions: z.string().default(INSTRUCTIONS).describe('What the judge is told. It must begin with PASS or FAIL:.')
  }),
  create({ judge, max_retries, instructions }, services) {
    const ask = services.model(judge)

    return async (turn, next) => {
      // Nobody hears an answer that was not judged: a stream gets the one that passed, at its end.
      let asked: Turn = { ...turn, emit: undefined }
      const paid: Answer[] = []
      const work: Message[] = []
      for (let attempt = 1; ; attempt++) {
        const answer = await next(asked)
        // Calls for the client or a pause are no answers yet, and what a limit left over is the last there will be.
        const isAnswer = answer.finish === 'stop' && answer.limit === undefined
        const verdict = isAnswer ? await ask(turn, question(turn, answer, instructions)) : undefined
        const reason = verdict && complaint(textOf(verdict.message.content))
        if (reason === undefined || attempt > max_retries) {
          if (reason !== undefined) turn.tell({ type: 'note', note: 'evaluation:failed' })
          await replay(answer.message, turn.emit)
          const whole = { ...answer, messages: [...work, ...answer.messages] }
          return withUsageOf(whole, ...paid, ...(verdict ? [verdict] : []))
        }
        paid.push(answer, ...(verdict ? [verdict] : []))
        // Calls and results are kept, the refused answer is not.
        work.push(...answer.messages.slice(0, -1))
        const refused = newMessage('assistant', textOf(answer.message.content))
        asked = extend(asked, [
          ...answer.messages.slice(0, -1),
          refused,
          newMessage('user', `Your answer was not accepted: ${reason}`)
        ])
      }
    }
  }
})

function question(turn: Turn, answer: Answer, instructions: string): Message[] {
  const asked = turn.prompt.messages.find(({ id }) => id === turn.question)
  const both = `Question:\n${asked ? textOf(asked.content) : ''}\n\nAnswer:\n${textOf(answer.message.content)}`
  return [newMessage('system', instructions), newMessage('user', both)]
}

/** Why the answer is refused; `undefined` when it passes. */
function complaint(verdict: string): string | undefined {
  if (/^\s*PASS\b/i.test(verdict)) return undefined
  return verdict.replace(/^\s*FAIL:?\s*/i, '').trim() || 'the judge gave no reason.'
}
