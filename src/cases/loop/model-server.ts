import type { ServerResponse } from 'node:http'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { fakeServer } from '../fake-server.ts'
import { type Fields, fieldsOf, isFields, listOf } from '../fields.ts'
import type { LoopCase, ScriptEntry } from './case.ts'
import type { RequestSaw } from './observation.ts'
import { callNamesOf, chunksOf, completionOf } from './recast.ts'

export interface ModelServer {
  readonly url: string
  /** From now on this script, one entry a request. */
  begin(script: readonly ScriptEntry[], mode: LoopCase['mode']): void
  /** The requests since then. */
  requests(): readonly RequestSaw[]
  /** Names of the calls in the answer that was played last. */
  batch(): readonly string[]
  close(): Promise<void>
}

const USED_UP = { text: '(script used up)' }

/** An OpenAI server whose answers are scripted. */
export async function modelServer(): Promise<ModelServer> {
  let script: readonly ScriptEntry[] = []
  let mode: LoopCase['mode'] = 'recorded'
  let seen: RequestSaw[] = []
  let batch: readonly string[] = []

  const server = await fakeServer(async (request, response) => {
    const body = fieldsOf(request.body)
    const entry = script[seen.length] ?? USED_UP
    seen.push(requestOf(body))
    const names = callNamesOf(entry)
    if (!('status' in entry)) batch = names
    await play(inForm(entry, mode, body.stream === true), response)
  })
  return {
    url: server.url,
    begin(next, nextMode) {
      script = next
      mode = nextMode
      seen = []
      batch = []
    },
    requests: () => [...seen],
    batch: () => batch,
    close: server.close
  }
}

/** Entries of the expectations have no form of their own: they are played as they were asked for. */
function inForm(entry: ScriptEntry, mode: LoopCase['mode'], isStreamed: boolean): Fields {
  if (mode === 'recorded' && !('text' in entry)) return entry
  return mode === 'stream' || (mode === 'recorded' && isStreamed) ? chunksOf(entry) : completionOf(entry)
}

async function play(entry: Fields, response: ServerResponse): Promise<void> {
  if (typeof entry.status === 'number') {
    const body = isFields(entry.body) ? entry.body : { error: { message: 'scripted failure', type: 'server_error' } }
    response.writeHead(entry.status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    return
  }
  const { abort, ...answer } = entry
  if (!Array.isArray(answer.sse)) {
    const text = JSON.stringify(answer)
    response.writeHead(200, { 'content-type': 'application/json' })
    if (abort === true) await breakOff(response, text.slice(0, text.length / 2))
    else response.end(text)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const chunk of listOf(answer.sse)) {
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    await setImmediate()
  }
  if (abort === true) await breakOff(response, '')
  else response.end('data: [DONE]\n\n')
}

/** What was written must have left before the connection is cut. */
async function breakOff(response: ServerResponse, text: string): Promise<void> {
  response.write(text)
  await sleep(20)
  response.socket?.resetAndDestroy()
}

function requestOf({ messages, tools, tool_choice }: Fields): RequestSaw {
  return {
    messages: listOf(messages).map(fieldsOf),
    tools: listOf(tools).map(tool => {
      const { name, parameters } = fieldsOf(fieldsOf(tool).function)
      const { properties, required } = fieldsOf(parameters)
      return {
        name: String(name),
        properties: Object.keys(fieldsOf(properties)),
        required: listOf(required).map(String)
      }
    }),
    ...(tool_choice !== undefined && { toolChoice: tool_choice })
  }
}
