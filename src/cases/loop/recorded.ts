/** Recorded values in the words of this gateway: the table of contract §16. */
import { type Fields, fieldsOf, isFields, listOf, stringOf } from '../fields.ts'

const FINISHES: Readonly<Record<string, { readonly finish: string; readonly loopgate?: string }>> = {
  STOP: { finish: 'stop' },
  TOOL_CALLS: { finish: 'tool_calls' },
  LENGTH: { finish: 'length' },
  returnDirect: { finish: 'stop', loopgate: 'return_direct' },
  toolCallLimitExceeded: { finish: 'length', loopgate: 'tool_call_limit' }
}

const ERRORS: Readonly<Record<string, Fields>> = {
  'missing-session-id': { status: 400, code: 'session_required' },
  'upstream-400': { status: 400 },
  'upstream-500': { status: 502 },
  'upstream-stream-cut': { in_stream: true }
}

/** A turn of a fixture as an expectation; what was not recorded, or has no counterpart here, is left out. */
export function recordedTurn(turn: Fields): Fields {
  const { requestsSeen, toolCallsExecuted, memoryAfter, toolIndexOps, augmentedArgumentsSeen } = turn
  const ops = fieldsOf(toolIndexOps)
  return {
    ...(Array.isArray(requestsSeen) && {
      requests_count: requestsSeen.length,
      requests: requestsSeen.map(request => recordedRequest(fieldsOf(request)))
    }),
    ...(Array.isArray(toolCallsExecuted) && { executed: toolCallsExecuted }),
    ...(Array.isArray(memoryAfter) && { memory: memoryAfter.flatMap(recordedMessage) }),
    ...(isFields(toolIndexOps) && { index: { builds: ops.indexed, searches: ops.searched } }),
    ...(Array.isArray(augmentedArgumentsSeen) && {
      augmented: augmentedArgumentsSeen.map(fieldsOf).map(one => ({ tool: one.tool, values: one.arguments }))
    }),
    ...recordedAnswer(fieldsOf(turn.callerSaw))
  }
}

/** Streaming of upstream requests is the gateway's own affair: it is not compared. */
function recordedRequest({ messages, tools, tool_choice, toolSchemas }: Fields): Fields {
  return {
    messages,
    ...(tools !== undefined && { tools }),
    ...(tool_choice !== undefined && { tool_choice }),
    ...(toolSchemas !== undefined && { tool_schemas: toolSchemas })
  }
}

/** Results of one batch are one message there and one each here. */
function recordedMessage(message: unknown): readonly unknown[] {
  const { role, responses } = fieldsOf(message)
  return Array.isArray(responses) ? responses.map(response => ({ role, ...fieldsOf(response) })) : [message]
}

function recordedAnswer(answer: Fields): Fields {
  if (isFields(answer.error)) {
    return { error: ERRORS[String(answer.error.kind)] ?? {} }
  }
  if (Array.isArray(answer.rounds)) return { rounds: answer.rounds.map(round => recordedAnswer(fieldsOf(round))) }
  const chunks = listOf(answer.chunks).map(fieldsOf)
  const finish = FINISHES[String(answer.finish_reason)]
  const partial = [answer, ...chunks].map(one => one.partialToolResponses).findLast(Array.isArray)
  const calls = [answer, ...chunks].map(one => one.tool_calls).findLast(Array.isArray)
  const direct = [answer, ...chunks].findLast(({ toolName }) => toolName !== undefined)
  const report = {
    ...(finish?.loopgate !== undefined && { finish: finish.loopgate }),
    ...(partial && { partial_results: partial }),
    ...(direct && { direct: [{ id: direct.toolCallId, name: direct.toolName }] })
  }
  return {
    ...(stringOf(answer.content) !== undefined && { content: answer.content }),
    ...(answer.entity !== undefined && { content_json: answer.entity }),
    ...(finish && { finish_reason: finish.finish }),
    ...(answer.finish_reason !== undefined && !finish && { finish_reason: answer.finish_reason }),
    ...(isFields(answer.usage) && { usage: answer.usage }),
    ...(Array.isArray(answer.chunks) && { pieces: chunks.map(({ content }) => content).filter(Boolean) }),
    ...(calls && { tool_calls: calls }),
    ...(Object.keys(report).length > 0 && { loopgate: report })
  }
}
