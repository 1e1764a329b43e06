import type { Model } from '../../src/core/turn.ts'
import { scripted } from './turn.ts'

/** A model that answers when it is told to. */
export function gated(then: Parameters<typeof scripted>[0][number]): { chat: Model; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const model = scripted([then])
  return {
    chat: async turn => {
      await promise
      return model(turn)
    },
    open: resolve
  }
}

/** The whole of a stream; `then` is called when so many comments have come. */
export async function untilComments(response: Response, count: number, then: () => void): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    if (text.split('\n\n').filter(frame => frame.startsWith(':')).length >= count) then()
  }
  return text
}
