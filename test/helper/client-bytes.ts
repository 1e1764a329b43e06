/** Bytes of a streamed answer, piece by piece, and a hand-made observation of them. */
import type { WireObservation } from '../../src/cases/wire/observation.ts'

export const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
  'x-request-id': 'req_1'
}

export const chunk = (more: object) =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', ...more })}\n\n`
export const choice = (delta: object, finish: string | null = null, more: object = {}) =>
  chunk({ choices: [{ index: 0, delta, finish_reason: finish, ...more }] })
export const role = choice({ role: 'assistant', content: '' })
export const head = (index: number) =>
  choice({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'f', arguments: '' } }] })
export const piece = (index: number, text: string) => choice({ tool_calls: [{ index, function: { arguments: text } }] })
export const stop = choice({}, 'stop')
export const done = 'data: [DONE]\n\n'
export const failure =
  'data: {"error":{"message":"boom","type":"upstream_error","param":null,"code":"upstream_error"}}\n\n'
export const good = role + choice({ content: 'a' }) + stop + done

/** What was seen of an answer with these bytes, where nothing else happened. */
export function observed(text: string, changes: Partial<WireObservation['client']> = {}): WireObservation {
  return {
    client: {
      status: 200,
      headers: HEADERS,
      text,
      isUtf8: true,
      headMs: 5,
      endMs: 20,
      hasLeft: false,
      pieces: [],
      ...changes
    },
    upstream: [],
    webhooks: [],
    alive: true
  }
}
