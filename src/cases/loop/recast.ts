/** Scripted answers of the model in the other form: a completion as chunks, chunks as a completion. */
import { type Fields, fieldsOf, isFields, listOf, numberOf, stringOf } from '../fields.ts'

const HEAD = { id: 'cmpl', created: 1, model: 'stub-1' }

/** A whole completion; entries that are none (errors) stay as they are. `{text, usage}` is the short form. */
export function completionOf(entry: Fields): Fields {
  if ('text' in entry) {
    const message = { role: 'assistant', content: entry.text }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    return { ...HEAD, object: 'chat.completion', choices, ...(isFields(entry.usage) && { usage: entry.usage }) }
  }
  if (!Array.isArray(entry.sse)) return entry
  const chunks = entry.sse.map(fieldsOf)
  const choices = chunks.flatMap(chunk => listOf(chunk.choices).map(fieldsOf))
  const deltas = choices.map(({ delta }) => fieldsOf(delta))
  const { choices: _, usage: __, ...head }: Fields = chunks[0] ?? HEAD
  const usage = chunks.map(chunk => chunk.usage).findLast(isFields)
  const calls = callsOf(deltas)
  const message = {
    role: 'assistant',
    content: deltas.map(({ content }) => stringOf(content) ?? '').join('') || null,
    ...(calls.length > 0 && { tool_calls: calls })
  }
  const finish_reason = choices.map(choice => choice.finish_reason).findLast(word => typeof word === 'string') ?? null
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason }],
    ...(usage && { usage }),
    ...(entry.abort === true && { abort: true })
  }
}

function callsOf(deltas: readonly Fields[]): readonly Fields[] {
  const calls = new Map<number, { id: unknown; name: unknown; text: string }>()
  for (const piece of deltas.flatMap(delta => listOf(delta.tool_calls).map(fieldsOf))) {
    const { name, arguments: text } = fieldsOf(piece.function)
    const index = numberOf(piece.index) ?? 0
    const call = calls.get(index) ?? { id: piece.id, name, text: '' }
    call.text += stringOf(text) ?? ''
    calls.set(index, call)
  }
  return [...calls.values()].map(({ id, name, text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text }
  }))
}

/** Chunks: role, each text and each call whole, finish, usage. Chunks and errors stay as they are. */
export function chunksOf(entry: Fields): Fields {
  if (Array.isArray(entry.sse) || 'status' in entry) return entry
  const { choices, usage, object: _, abort, ...head } = completionOf(entry)
  const chunk = (more: Fields) => ({ ...head, object: 'chat.completion.chunk', ...more })
  const pieces = listOf(choices)
    .map(fieldsOf)
    .flatMap(({ index, message, finish_reason }) => {
      const { role, content, tool_calls, ...others } = fieldsOf(message)
      const deltas: Fields[] = [{ role: role ?? 'assistant', content: '' }]
      if (Object.keys(others).length > 0) deltas.push(others)
      if (content) deltas.push({ content })
      listOf(tool_calls).forEach((call, at) => void deltas.push({ tool_calls: [{ index: at, ...fieldsOf(call) }] }))
      return [...deltas.map(delta => ({ index, delta, finish_reason: null })), { index, delta: {}, finish_reason }]
    })
  const sse = pieces.map(choice => chunk({ choices: [choice] }))
  if (isFields(usage)) sse.push(chunk({ choices: [], usage }))
  return { sse, ...(abort === true && { abort }) }
}

/** Names of the calls that an entry asks for, in order. */
export function callNamesOf(entry: Fields): readonly string[] {
  const [choice] = listOf(completionOf(entry).choices).map(fieldsOf)
  return listOf(fieldsOf(choice?.message).tool_calls).map(call => String(fieldsOf(fieldsOf(call).function).name))
}
