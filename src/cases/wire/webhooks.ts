import type { ServerResponse } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { type FakeRequest, fakeServer } from '../fake-server.ts'
import { fieldsOf, numberOf } from '../fields.ts'
import type { GatewayTool } from './case.ts'
import type { WebhookSaw } from './observation.ts'

export interface FakeWebhooks {
  readonly url: string
  begin(tools: readonly GatewayTool[], clock: () => number): void
  /** The calls since then, in the order of rounds and batches, not of their arrival. */
  seen(): readonly WebhookSaw[]
  isBusy(): boolean
  close(): Promise<void>
}

type Open = { -readonly [K in keyof WebhookSaw]: WebhookSaw[K] }

/** The endpoints of a case's tools, `/tools/<name>`. */
export async function fakeWebhooks(): Promise<FakeWebhooks> {
  let tools: readonly GatewayTool[] = []
  let clock = () => 0
  let calls: Open[] = []
  const open = new Set<Open>()

  const server = await fakeServer(async (request, response) => {
    const saw: Open = { ...callOf(request), atMs: clock() }
    calls.push(saw)
    open.add(saw)
    const now = clock
    response.once('close', () => {
      open.delete(saw)
      if (!response.writableFinished) saw.abortedMs = now()
    })
    const tool = tools.find(({ name }) => name === saw.tool)
    if (tool === undefined) response.writeHead(404).end()
    else await reply(tool.result, response)
  })
  return {
    url: server.url,
    begin(next, newClock) {
      tools = next
      clock = newClock
      calls = []
      open.clear()
    },
    seen: () => calls.toSorted((a, b) => a.round - b.round || a.index - b.index).map(one => ({ ...one })),
    isBusy: () => open.size > 0,
    close: server.close
  }
}

function callOf({ path, body }: FakeRequest): Omit<WebhookSaw, 'atMs'> {
  const call = fieldsOf(fieldsOf(fieldsOf(body).data).call)
  return {
    tool: path.slice('/tools/'.length),
    arguments: call.arguments,
    round: numberOf(call.iteration) ?? 0,
    index: numberOf(call.index) ?? 0
  }
}

/** Objects are served as JSON, strings and repeated texts as plain text (contract §16). */
async function reply({ status, headers, body, delayMs, bodyRepeat }: GatewayTool['result'], response: ServerResponse) {
  if (delayMs !== undefined) await setTimeout(delayMs)
  if (response.closed) return
  const text = bodyRepeat ? bodyRepeat.text.repeat(bodyRepeat.times) : body
  if (text === undefined || text === null) response.writeHead(status, headers).end()
  else if (typeof text === 'string') response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(text)
  else response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(text))
}
