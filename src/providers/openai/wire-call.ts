import type { Fields, ToolCall } from '../../core/chat.ts'

/** A call as OpenAI chat completions spells it. A custom tool's call is kept whole in `extra` (`type: custom`). */
export function wireCall({ id, name, arguments: text, extra }: ToolCall): Fields {
  if (extra?.type === 'custom') return { ...extra, id }
  return { id, type: 'function', function: { name, arguments: text }, ...extra }
}
