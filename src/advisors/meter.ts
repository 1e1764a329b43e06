import type { Answer, Delta, Prompt, Usage } from '../core/chat.ts'
import { type Cost, costOf, type Price } from '../core/cost.ts'
import { GatewayError } from '../core/errors.ts'
import { textOf } from '../core/text.ts'
import type { Advisor, Turn } from '../core/turn.ts'

export interface MeterOptions {
  /** `asked`: the model by the name it was asked for, an alias for example. Absent: no prices are configured. */
  readonly priceOf?: ((asked: string, target: AnsweringModel) => Price | undefined) | undefined
}

/** The provider and its own name for the model. */
export interface AnsweringModel {
  readonly provider: string
  readonly model: string
}

/**
 * Tells what every model call used, for the run view, budgets and metrics: the provider's own figures, or an estimate
 * (bytes ÷ 4) that says so. The answer is left as it is: an estimate is never shown as a provider's count
 * (contract §4.10). What that cost is told beside it, where there are prices. It may not be left out of the chain.
 */
export function meter({ priceOf }: MeterOptions = {}): Advisor {
  return {
    name: 'meter',
    async advise(turn, next) {
      turn.tell({ type: 'round.start', round: turn.round, offered: [...turn.prompt.tools.keys()] })
      const heard = new Heard()
      const { emit } = turn
      let target: AnsweringModel | undefined
      const listening: Turn = {
        ...turn,
        emit: emit && (delta => heard.pass(delta, emit)),
        tell: event => {
          if (event.type === 'attempt') target = { provider: event.provider, model: event.model }
          turn.tell(event)
        }
      }
      const tellUsage = (usage: Usage, estimated: boolean) => {
        const { round, prompt } = turn
        const cost = priced(turn, target, usage, priceOf)
        const answering = target ?? { provider: 'unknown', model: prompt.model }
        turn.tell({ type: 'usage', round, ...answering, usage, estimated, ...(cost && { cost }) })
      }
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

/** What no upstream was asked for costs nothing, and so does what has no price; but that is told. */
function priced(
  turn: Turn,
  target: AnsweringModel | undefined,
  usage: Usage,
  priceOf: MeterOptions['priceOf']
): Cost | undefined {
  const price = target && priceOf?.(turn.prompt.model, target)
  if (target !== undefined && price === undefined) {
    if (priceOf) turn.tell({ type: 'price.missing', round: turn.round, ...target })
    // A limit that this call cannot reach.
    if (turn.policy.limits.maxCostMicros !== undefined)
      turn.tell({ type: 'note', note: `price_missing:${target.model}` })
  }
  return priceOf && costOf(usage, price ?? FREE)
}

const FREE: Price = { prompt: 0, completion: 0 }

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
