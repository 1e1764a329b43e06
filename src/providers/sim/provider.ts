/** A model without a network: for trying the gateway out, and for tests of it and of what is built on it. */
import type { Answer } from '../../core/chat.ts'
import { roundsOfTurn } from '../../core/conversation.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Turn } from '../../core/turn.ts'
import { encode } from '../openai/encode.ts'
import type { Provider } from '../provider.ts'
import { play } from './play.ts'
import { reply } from './reply.ts'
import { Script } from './script.ts'

export interface SimOptions {
  readonly name: string
  /** Whether there is the model `sim-script`. */
  readonly allowScript: boolean
  /** JSON list of entries for turns that bring no script. */
  readonly scriptFile?: string | undefined
  /** As configured in `tool_search.tool_name`: the tool that finds tools. */
  readonly searchToolName?: string
}

/** The models `sim` and `sim-script` of contract §10. */
export function simProvider(options: SimOptions): Provider {
  const { name, allowScript, searchToolName = 'toolSearchTool' } = options
  const script = new Script(options.scriptFile)

  const answer = async (turn: Turn): Promise<Answer> => {
    turn.signal.throwIfAborted()
    const request = encode(turn.prompt, {
      emptyAssistantContent: 'null',
      replayReasoning: 'auto',
      question: turn.question,
      // The same tokens for a call and a stream.
      stream: false
    })
    const { model, params } = turn.prompt
    if (model === 'sim') return play({ ...reply(turn, searchToolName) }, turn, { name, request })
    if (model === 'sim-script' && allowScript) {
      const entry = await script.next(turn.id, roundsOfTurn(turn), params.loopgate_script)
      return play(entry, turn, { name, request })
    }
    const models = allowScript ? 'sim and sim-script' : 'sim'
    throw new GatewayError('model_not_found', `The simulator has no model ${model}; it has ${models}.`)
  }

  return {
    name,
    kind: 'sim',
    close: async () => {},
    chat: turn => told(turn, name, answer)
  }
}

/** Tells of the attempt as a provider with a network does. */
async function told(turn: Turn, name: string, answer: (turn: Turn) => Promise<Answer>): Promise<Answer> {
  const startedAt = performance.now()
  const tell = (outcome: string, status: number | undefined): void => {
    const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000
    const { model } = turn.prompt
    turn.tell({
      type: 'attempt',
      round: turn.round,
      provider: name,
      model,
      durationMs,
      outcome,
      ...(status !== undefined && { status })
    })
  }
  turn.tell({ type: 'attempt.start', round: turn.round, provider: name, model: turn.prompt.model })
  try {
    const answered = await answer(turn)
    tell('ok', 200)
    return answered
  } catch (error) {
    if (error instanceof GatewayError) tell(error.code, error.detail.upstreamStatus)
    else tell('cancelled', undefined)
    throw error
  }
}
