import type { Fields, ToolCall } from '../../core/chat.ts'

export interface Said {
  readonly text: string
  readonly reasoning?: string
  readonly calls: readonly ToolCall[]
  readonly finish: string
  readonly usage?: Fields | undefined
}

/** What the simulator says as chunks of OpenAI chat completions: one word a piece, each call whole. */
export function chunksOf({ text, reasoning, calls, finish, usage }: Said): readonly Fields[] {
  const deltas: Fields[] = [
    ...wordsOf(reasoning ?? '').map(word => ({ reasoning_content: word })),
    ...wordsOf(text).map(word => ({ content: word })),
    ...calls.map(({ id, name, arguments: values }, index) => ({
      tool_calls: [{ index, id, type: 'function', function: { name, arguments: values } }]
    }))
  ]
  return [
    ...deltas.map(delta => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    ...(usage === undefined ? [] : [{ choices: [], usage }])
  ]
}

/** ceil(bytes ÷ 4) of request and answer, spelled as OpenAI does. */
export function estimate(request: string, { text, reasoning = '', calls }: Omit<Said, 'finish' | 'usage'>): Fields {
  const answer = text + reasoning + (calls.length > 0 ? JSON.stringify(calls) : '')
  const prompt = Math.ceil(Buffer.byteLength(request) / 4)
  const completion = Math.ceil(Buffer.byteLength(answer) / 4)
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

/** Words with the white space around them, nothing lost. */
function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+\s*/g) ?? (text === '' ? [] : [text])
}
