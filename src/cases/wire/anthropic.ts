/** A message of the Anthropic surface as a client reads it, and the shape of its stream. */
import { type Fields, fieldsOf, isFields, listOf, numberOf, stringOf } from '../fields.ts'
import type { ReadAnswer } from './answer.ts'

interface Block {
  readonly start: Fields
  text: string
  reasoning: string
  input: string
}

export function anthropicAnswer(
  documents: readonly Fields[]
): Omit<ReadAnswer, 'isStream' | 'frames' | 'documents' | 'isDone' | 'error'> {
  const blocks = documents.some(({ type }) => type === 'content_block_start')
    ? blocksOf(documents)
    : wholeBlocks(documents)
  const ends = documents.flatMap(one => [fieldsOf(one.delta).stop_reason, one.stop_reason])
  const finish = ends.map(stringOf).findLast(word => word !== undefined)
  const usages = documents.flatMap(one => [fieldsOf(one.message).usage, one.usage]).filter(isFields)
  return {
    text: blocks.map(({ text }) => text).join(''),
    reasoning: blocks.map(({ reasoning }) => reasoning).join(''),
    refusal: '',
    ...(finish !== undefined && { finish }),
    calls: blocks
      .filter(({ start }) => start.type === 'tool_use')
      .map(({ start, input }) => ({
        id: String(start.id),
        name: String(start.name),
        arguments: input || JSON.stringify(start.input ?? {})
      })),
    ...(usages.length > 0 && { usage: Object.assign({}, ...usages) as Fields }),
    logprobTokens: []
  }
}

function blocksOf(events: readonly Fields[]): readonly Block[] {
  const blocks = new Map<unknown, Block>()
  for (const event of events) {
    if (event.type === 'content_block_start') {
      blocks.set(event.index, { start: fieldsOf(event.content_block), text: '', reasoning: '', input: '' })
    }
    const block = blocks.get(event.index)
    if (event.type !== 'content_block_delta' || !block) continue
    const { text, thinking, partial_json } = fieldsOf(event.delta)
    block.text += stringOf(text) ?? ''
    block.reasoning += stringOf(thinking) ?? ''
    block.input += stringOf(partial_json) ?? ''
  }
  return [...blocks.values()]
}

function wholeBlocks(documents: readonly Fields[]): readonly Block[] {
  return documents
    .flatMap(({ content }) => listOf(content))
    .map(fieldsOf)
    .map(start => ({ start, text: stringOf(start.text) ?? '', reasoning: stringOf(start.thinking) ?? '', input: '' }))
}

/** What the field `anthropic` of an expectation is compared with. */
export interface StreamShape {
  /** Types of the blocks, in order of their starts. */
  readonly blocks: readonly string[]
  readonly stopReason?: string
  /** Did a block begin before the one before it had ended? */
  readonly overlap: boolean
  readonly messageStarts: number
  readonly messageStops: number
  readonly indexesContiguous: boolean
}

export function shapeOf(events: readonly Fields[]): StreamShape {
  const count = (type: string) => events.filter(event => event.type === type).length
  const starts = events.filter(event => event.type === 'content_block_start')
  const stopReason = events
    .map(({ delta }) => stringOf(fieldsOf(delta).stop_reason))
    .findLast(word => word !== undefined)
  let isOpen = false
  let overlap = false
  for (const { type } of events) {
    if (type === 'content_block_start') {
      overlap ||= isOpen
      isOpen = true
    }
    if (type === 'content_block_stop') isOpen = false
  }
  return {
    blocks: starts.map(({ content_block }) => String(fieldsOf(content_block).type)),
    ...(stopReason !== undefined && { stopReason }),
    overlap,
    messageStarts: count('message_start'),
    messageStops: count('message_stop'),
    indexesContiguous: starts.every(({ index }, at) => numberOf(index) === at)
  }
}
