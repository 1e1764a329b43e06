import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FakeRequest, fakeServer } from '../cases/fake-server.ts'
import type { Effect } from './plan.ts'

/** A call that reached a tool. */
export interface Delivery {
  /** Question, round and position: what the call is for, whatever id it carries. */
  readonly place: string
  readonly effect: Effect
  readonly webhookId: string
}

/** What is outside of the gateway, and outlives it: a model that makes the calls of the plan, and tools that count them. */
export interface World {
  readonly modelUrl: string
  readonly toolsUrl: string
  readonly deliveries: readonly Delivery[]
  /** Conversations that no provider would take, as the model saw them. */
  readonly broken: readonly string[]
  close(): Promise<void>
}

type Json = ReturnType<typeof JSON.parse>

/** `pause`: how long an answer takes, in milliseconds. */
export async function world(pause: () => number): Promise<World> {
  const deliveries: Delivery[] = []
  const broken: string[] = []
  const model = await fakeServer(async ({ body }, response) => {
    await sleep(pause())
    const asked = body as Json
    broken.push(...danglingCalls(asked.messages))
    const calls = callsOf(asked.messages)
    const message = calls ? { content: null, tool_calls: calls } : { content: `answer ${questionOf(asked.messages).q}` }
    send(response, message, asked.stream)
  })
  const tools = await fakeServer(async ({ path, headers, body }: FakeRequest, response) => {
    const { place } = (body as Json).data.call.arguments
    deliveries.push({ place, effect: path.slice(1) as Effect, webhookId: headers['webhook-id'] ?? '' })
    await sleep(pause())
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ done: place }))
  })
  return {
    ...{ modelUrl: model.url, toolsUrl: tools.url, deliveries, broken },
    close: async () => void (await Promise.all([model.close(), tools.close()]))
  }
}

/** The question says what is to be called, so that the model needs no memory. */
function questionOf(messages: Json[]): { q: string; rounds: Effect[][] } {
  return JSON.parse(messages.findLast(({ role }) => role === 'user').content)
}

function callsOf(messages: Json[]): object[] | undefined {
  const { q, rounds } = questionOf(messages)
  const own = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
  const round = own.filter(({ role }) => role === 'assistant').length
  return rounds[round]?.map((name, index) => ({
    ...{ index, id: `call_${q}_${round}_${index}`, type: 'function' },
    function: { name, arguments: JSON.stringify({ place: `${q}/${round}/${index}` }) }
  }))
}

/** Each call has one result, before anything else is said. */
function danglingCalls(messages: Json[]): string[] {
  const found: string[] = []
  let open = new Set<string>()
  for (const { role, tool_calls: calls = [], tool_call_id: id } of messages) {
    if (role === 'tool' && !open.delete(id)) found.push(`a result of ${id}, which is no open call`)
    if (role !== 'tool' && open.size > 0) found.push(`no result for ${[...open]}`)
    if (role === 'assistant') open = new Set(calls.map(({ id: each }: Json) => each))
  }
  return found
}

function send(response: ServerResponse, message: Json, stream: boolean): void {
  const finish = message.tool_calls ? 'tool_calls' : 'stop'
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  if (!stream) {
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }]
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id: 'w', object: 'chat.completion', choices, usage }))
    return
  }
  const chunk = (more: object) => `data: ${JSON.stringify({ id: 'w', object: 'chat.completion.chunk', ...more })}\n\n`
  response.setHeader('content-type', 'text/event-stream')
  response.write(chunk({ choices: [{ index: 0, delta: message, finish_reason: null }] }))
  response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }] }))
  response.end(`${chunk({ choices: [], usage })}data: [DONE]\n\n`)
}
