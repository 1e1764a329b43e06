import { asGatewayError, GatewayError } from '../core/errors.ts'
import type { TurnEvent } from '../core/events.ts'
import type { Advisor } from '../core/turn.ts'

/**
 * One log line a turn: who asked which model, which tools ran, which augmentation fields the model filled in, how it
 * ended. Names and figures only, never a prompt, an argument or a result.
 */
export function audit(): Advisor {
  return {
    name: 'audit',
    async advise(turn, next) {
      const tools: string[] = []
      const augmented = new Set<string>()
      const watched = {
        ...turn,
        tell: (event: Parameters<typeof turn.tell>[0]) => {
          if (event.type === 'tool.end') {
            tools.push(shown(event))
            for (const name of filledIn(event)) augmented.add(name)
          }
          turn.tell(event)
        }
      }
      const who = {
        request_id: turn.request.id,
        turn_id: turn.id,
        session_id: turn.session.id,
        key_id: turn.principal.key,
        model: turn.prompt.model
      }
      try {
        const answer = await next(watched)
        turn.log.info({
          event: 'turn.end',
          ...who,
          finish: answer.finish,
          tools,
          ...(augmented.size > 0 && { augmented: [...augmented] }),
          duration_ms: Date.now() - turn.startedAt
        })
        return answer
      } catch (error) {
        turn.log.warn({
          event: 'turn.end',
          ...who,
          error: codeOf(error, turn.signal),
          tools,
          ...(augmented.size > 0 && { augmented: [...augmented] }),
          duration_ms: Date.now() - turn.startedAt
        })
        throw error
      }
    }
  }
}

type ToolEnd = Extract<TurnEvent, { type: 'tool.end' }>

/** `stock_level.innerThought`. */
function filledIn({ tool, augmented = {} }: ToolEnd): readonly string[] {
  return Object.keys(augmented).flatMap(name => (augmented[name] === null ? [] : `${tool}.${name}`))
}

/** A name that no tool has was made up by the model, with any length and any text. */
function shown({ tool, kind, status, code }: ToolEnd): string {
  const name = kind === undefined ? 'unknown' : tool
  return status === 'ok' ? name : `${name} (${code})`
}

/** An aborted turn failed for the reason it was aborted for, whatever the part that noticed made of it. */
function codeOf(error: unknown, { aborted, reason }: AbortSignal): string {
  if (!aborted) return asGatewayError(error).code
  return reason instanceof GatewayError ? reason.code : 'aborted'
}
