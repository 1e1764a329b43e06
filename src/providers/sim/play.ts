import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Fields, ToolCall } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { isFields } from '../../core/is-fields.ts'
import type { Turn } from '../../core/turn.ts'
import { CompletionReader } from '../openai/completion-reader.ts'
import { retryAfterMs } from '../retry-after.ts'
import { upstreamFailure } from '../upstream-failure.ts'
import { chunksOf, estimate } from './chunks.ts'
import type { Entry } from './script.ts'

const USED_UP: Entry = { text: '(script used up)' }

/** Answers as one entry of a script says, through the reader that real answers go through. */
export async function play(
  entry: Entry = USED_UP,
  turn: Turn,
  { name, request }: { name: string; request: string }
): Promise<Answer> {
  if (typeof entry.delay_ms === 'number') await wait(entry.delay_ms, turn.signal)
  if (typeof entry.status === 'number' && entry.status >= 400) throw failureOf(entry, entry.status, name)

  const reader = new CompletionReader(turn, name)
  for (const chunk of chunksIn(entry, turn, request)) {
    turn.signal.throwIfAborted()
    if (chunk === '[DONE]') break
    await reader.read(chunk)
  }
  if (entry.cut === true) {
    throw new GatewayError('upstream_disconnected', `The provider ${name} broke off before its answer was complete.`, {
      provider: name,
      ...(reader.usage && { usage: reader.usage })
    })
  }
  reader.done()
  return reader.finish()
}

async function wait(delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(delayMs, undefined, { signal })
  } catch {
    throw signal.reason
  }
}

function failureOf(entry: Entry, status: number, name: string): GatewayError {
  const given = isFields(entry.headers) ? entry.headers : {}
  const headers = Object.fromEntries(Object.entries(given).map(([key, value]) => [key.toLowerCase(), String(value)]))
  return upstreamFailure({ name, status, retryAfterMs: retryAfterMs(headers), body: entry.body })
}

function chunksIn(entry: Entry, turn: Turn, request: string): readonly unknown[] {
  if (Array.isArray(entry.chunks)) return entry.chunks
  if (entry.raw !== undefined) return [entry.raw]
  if (typeof entry.status === 'number' && entry.body !== undefined) return [entry.body]
  const said = {
    text: textIn(entry.text),
    reasoning: textIn(entry.reasoning),
    calls: callsIn(entry.calls, turn)
  }
  const usage = entry.usage === undefined ? estimate(request, said) : entry.usage
  const finish = textIn(entry.finish) || (said.calls.length > 0 ? 'tool_calls' : 'stop')
  return chunksOf({ ...said, finish, usage: isFields(usage) ? usage : undefined })
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function callsIn(value: unknown, turn: Turn): readonly ToolCall[] {
  if (!Array.isArray(value)) return []
  return value.filter(isFields).map((call, index) => ({
    id: textIn(call.id) || `call_sim_${callsBefore(turn) + index + 1}`,
    name: textIn(call.name),
    arguments: argumentsText(call)
  }))
}

function argumentsText({ arguments: values }: Fields): string {
  if (values === undefined) return '{}'
  return typeof values === 'string' ? values : JSON.stringify(values)
}

function callsBefore({ prompt }: Turn): number {
  return prompt.messages.reduce((n, message) => n + (message.role === 'assistant' ? message.calls.length : 0), 0)
}
