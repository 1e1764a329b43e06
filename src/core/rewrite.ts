import { Assembly } from './assemble.ts'
import type { Answer, Delta } from './chat.ts'
import { replay } from './replay.ts'
import type { Emit, Model, Turn } from './turn.ts'
import { withMessage } from './with-message.ts'

/** Changes pieces on their way. `end` lets out what was held back. */
export interface Rewriter {
  write(delta: Delta): undefined | Promise<void>
  end(): undefined | Promise<void>
}

/**
 * Changes what an answer says, with one algorithm for both modes: without a listener the finished message is sent
 * through the same rewriter.
 */
export async function rewrite(turn: Turn, next: Model, rewriterTo: (out: Emit) => Rewriter): Promise<Answer> {
  const assembly = new Assembly()
  const rewriter = rewriterTo(delta => {
    assembly.add(delta)
    return turn.emit?.(delta)
  })

  const answer = await next({ ...turn, emit: turn.emit && (delta => rewriter.write(delta)), textIsHeld: false })
  if (!turn.emit) await replay(answer.message, delta => rewriter.write(delta))
  await rewriter.end()

  // In a stream the preambles of earlier rounds went through too: only what came last is the message.
  const said = turn.emit ? lastOf(assembly, answer, rewriterTo) : assembly
  const { content } = (await said).message(answer.message.id)
  return withMessage(answer, { ...answer.message, content })
}

async function lastOf(sent: Assembly, answer: Answer, rewriterTo: (out: Emit) => Rewriter): Promise<Assembly> {
  if (answer.messages[0]?.id === answer.message.id) return sent
  const assembly = new Assembly()
  const rewriter = rewriterTo(delta => {
    assembly.add(delta)
    return undefined
  })
  await replay(answer.message, delta => rewriter.write(delta))
  await rewriter.end()
  return assembly
}
