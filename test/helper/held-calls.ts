/** What tests of calls that wait for a client are made of. */
import type { LoopAnswer, LoopTool, ModelRound } from './loop-gateway.ts'

export const clientTool = { type: 'function', function: { name: 'open_page', parameters: { type: 'object' } } }
export const stock: LoopTool = {
  definition: { input_schema: { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] } },
  answer: ({ sku }) => (sku === 'slow' ? { body: '"late"' } : { body: `{"units":${sku === 'BX-1' ? 17 : 4}}` })
}
export const usage = (n: number) => ({ prompt_tokens: n, completion_tokens: 1, total_tokens: n + 1 })
export const round = (n: number, more: Partial<ModelRound>): ModelRound => ({ usage: [n, 1, n + 1], ...more })
export const mixed = round(10, {
  calls: [
    ['stock_level', { sku: 'BX-1' }, 'up_1'],
    ['open_page', { url: 'a' }, 'up_2'],
    ['stock_level', { sku: 'BX-2' }, 'up_3']
  ]
})
export const done = round(20, { text: 'Done.' })
export type Json = ReturnType<typeof JSON.parse>

/** A line for each message that the model was shown. */
export function shown({ requests }: LoopAnswer, at = 0): string[] {
  return requests[at].messages.map(({ role, content, tool_call_id, tool_calls }: Json) => {
    if (role === 'tool') return `${tool_call_id} = ${content}`
    return tool_calls ? `calls ${tool_calls.map(({ id }: Json) => id).join(' ')}` : `${role}: ${content}`
  })
}

export async function read(url: string, path: string, headers = {}): Promise<Json> {
  return (await fetch(url + path, { headers })).json()
}

export async function run(url: string, body: object, headers = {}) {
  const response = await fetch(`${url}/v1/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body)
  })
  const { messages, error } = (await response.json()) as Json
  return { status: response.status, messages, code: error?.code }
}

/** The calls of an answer, put together from their pieces. */
export function callsOf({ calls }: LoopAnswer): Json[] {
  const whole: Json[] = []
  for (const { index = whole.length, ...piece } of calls) {
    const known = whole[index]
    if (known) known.function.arguments += piece.function.arguments
    else whole[index] = structuredClone(piece)
  }
  return whole
}

export const turnId = ({ headers }: LoopAnswer) => headers.get('x-loopgate-turn-id') ?? ''
export const manual = { loopgate: { tool_execution: 'manual' } }
