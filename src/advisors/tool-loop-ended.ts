import type { Answer, PartialResult, Tool } from '../core/chat.ts'
import { newMessage } from '../core/new-message.ts'
import { textOf } from '../core/text.ts'
import { finishOf, type Limit } from './tool-loop-limits.ts'
import { added, type Progress } from './tool-loop-progress.ts'
import { hasRun, type Settled } from './tool-loop-run.ts'
import type { Speaker } from './tool-loop-speaker.ts'

type Ending = Pick<Answer, 'finish' | 'limit' | 'partialResults' | 'direct'> & { readonly text: string }

/** A limit ends the turn: its text is the answer, and what the last batch came to is handed over. */
export async function ended(progress: Progress, speaker: Speaker, { hit, text }: Limit): Promise<Answer> {
  progress.asked.tell({ type: 'limit', hit, action: 'stop' })
  const partialResults = progress.batch.filter(hasRun).map(partial)
  return spoken(progress, speaker, { text, finish: finishOf(hit), limit: hit, partialResults })
}

/** The results of the last batch are the answer, in the order of its calls (contract §4.2). */
export async function returned(progress: Progress, speaker: Speaker): Promise<Answer> {
  const { batch } = progress
  const texts = batch.map(({ result }) => (typeof result.direct === 'string' ? result.direct : textOf(result.content)))
  const text = texts.filter(each => each !== '').join('\n\n')
  const direct = batch.map(({ call }) => ({ id: call.id, name: call.name }))
  return spoken(progress, speaker, { text, finish: 'return_direct', direct })
}

/** Did every call run, and shall every result be the answer? */
export function isDirect(batch: readonly Settled[], offered: ReadonlyMap<string, Tool>): boolean {
  return batch.every(one => hasRun(one) && one.result.direct !== false && offered.get(one.call.name)?.returnDirect)
}

/** An answer that no model gave. */
async function spoken(progress: Progress, speaker: Speaker, { text, ...ending }: Ending): Promise<Answer> {
  const message = newMessage('assistant', text)
  await speaker.say(text)
  const { asked, usage } = progress
  return {
    message,
    messages: [...added(progress), message],
    ...(usage && { usage }),
    offered: asked.prompt.tools,
    ...ending
  }
}

function partial({ call, result }: Settled): PartialResult {
  return { id: call.id, name: call.name, content: textOf(result.content) }
}
