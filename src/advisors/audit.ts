import type { Advisor } from '../core/turn.ts'

/**
 * One log line a turn: who asked which model, which tools ran, how it ended. Names and figures only, never a prompt,
 * an argument or a result.
 */
export function audit(): Advisor {
  return {
    name: 'audit',
    async advise(turn, next) {
      const tools: string[] = []
      const watched = {
        ...turn,
        tell: (event: Parameters<typeof turn.tell>[0]) => {
          if (event.type === 'tool.end')
            tools.push(event.status === 'ok' ? event.tool : `${event.tool} (${event.code})`)
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
          duration_ms: Date.now() - turn.startedAt
        })
        return answer
      } catch (error) {
        const code = turn.signal.aborted ? 'aborted' : ((error as { code?: unknown }).code ?? 'internal')
        turn.log.warn({ event: 'turn.end', ...who, error: code, tools, duration_ms: Date.now() - turn.startedAt })
        throw error
      }
    }
  }
}
