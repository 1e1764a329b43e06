import type { Message } from '../core/chat.ts'

/** What the messages weigh in a prompt: bytes of texts, names and arguments. Tokens are reckoned as bytes ÷ 4. */
export function bytesOf(messages: readonly Message[]): number {
  let bytes = 0
  for (const message of messages) {
    const { content } = message
    bytes += Buffer.byteLength(typeof content === 'string' ? content : JSON.stringify(content))
    if (message.role !== 'assistant') continue
    for (const call of message.calls) bytes += Buffer.byteLength(call.name) + Buffer.byteLength(call.arguments)
  }
  return bytes
}
