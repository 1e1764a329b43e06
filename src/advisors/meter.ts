import type { Answer, Delta, Prompt, Usage } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { textOf } from '../core/text.ts'
import type { Advisor, Turn } from '../core/turn.ts'

/**
 * Tells what every model call used, for the run view, budgets and metrics: the provider's own figures, or an estimate
 * (bytes ÷ 4) that says so. The answer is left as it is: an estimate is never shown as a provider's count
 * (contract §4.10). It may not be left out of the chain.
 */
export function meter(): Advisor {
  return {
    name: 'meter',
    async advise(turn, next) {
      turn.tell({ type: 'round.start', round: turn.round, offered: [...turn.prompt.tools.keys()] })
      const heard = new Heard()
      const { emit } = turn
      const target = { provider: 'unknown', model: turn.prompt.model }
      const listening: Turn = {
        ...turn,
        emit: emit && (delta => heard.pass(delta, emit)),
        tell: event => {
          if (event.type === 'attempt') Object.assign(target, { provider: event.provider, model: event.model })
          turn.tell(event)
        }
      }
      const tellUsage = (usage: Usage, estimated: boolean) =>
        turn.tell({ type: 'usage', round: turn.round, ...target, usage, estimated })
      try {
        const answer = await next(listening)
        tellUsage(answer.usage ?? estimate(turn.prompt, bytesOf(answer)), answer.usage === undefined)
        return answer
      } catch (error) {
        const known = error instanceof GatewayError ? error.detail.usage : undefined
        // A stream that broke off was paid for as far as it came.
        if (known) tellUsage(known, false)
        else if (heard.bytes > 0) tellUsage(estimate(turn.prompt, heard.bytes), true)
        throw error
      }
    }
  }
}

class Heard {
  bytes = 0

  pass(delta: Delta, emit: NonNullable<Turn['emit']>): undefined | Promise<void> {
    if (delta.type === 'call') this.bytes += Buffer.byteLength(delta.arguments)
    else if (delta.type !== 'fields') this.bytes += Buffer.byteLength(delta.text)
    return emit(delta)
  }
}

function estimate(prompt: Prompt, answerBytes: number): Usage {
  const input = prompt.messages.reduce((bytes, message) => bytes + Buffer.byteLength(textOf(message.content)), 0)
  const definitions = prompt.tools.size === 0 ? 0 : Buffer.byteLength(JSON.stringify([...prompt.tools.values()]))
  const promptTokens = Math.ceil((input + definitions) / 4)
  const completion = Math.ceil(answerBytes / 4)
  return { prompt: promptTokens, completion, total: promptTokens + completion }
}

function bytesOf({ message }: Answer): number {
  const calls = message.calls.reduce((bytes, call) => bytes + call.name.length + call.arguments.length, 0)
  return Buffer.byteLength(textOf(message.content) + (message.reasoning?.text ?? '')) + calls
}
