import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { fakeServer } from '../../src/cases/fake-server.ts'
import { type Gateway, startGateway } from '../../src/cases/gateway.ts'

type Json = ReturnType<typeof JSON.parse>

interface Asked {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: string | null }[]
  readonly stream?: boolean
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

/** A gateway over a provider whose model `talk` repeats the question, and whose model `notes` does what a test says. */
export class Talk {
  readonly gateway: Gateway
  /** What the two models were asked, in order. */
  readonly talked: string[][] = []
  /** The tools that `talk` was shown last. */
  offered: string[] = []
  readonly noted: Asked[] = []

  constructor(gateway: Gateway) {
    this.gateway = gateway
  }

  async ask(question: string, { session = 's1', key = 'ann', ...body }: Record<string, unknown> = {}) {
    const response = await fetch(`${this.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headersOf(String(key)), 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ model: 'up/talk', session_id: session, messages: [{ role: 'user', content: question }] },
        ...body
      })
    })
    const text = await response.text()
    return { status: response.status, text, turnId: response.headers.get('x-loopgate-turn-id') ?? '' }
  }

  async get(path: string, key = 'ann'): Promise<{ status: number; body: Json }> {
    const response = await fetch(this.gateway.url + path, { headers: headersOf(key) })
    return { status: response.status, body: await response.json().catch(() => undefined) }
  }

  async recalled(session = 's1'): Promise<string[]> {
    const { body } = await this.get(`/v1/sessions/${session}?view=recall`)
    return body.messages.map(lineOf)
  }

  /** Log lines of compactions so far. */
  get compactions(): Record<string, unknown>[] {
    const lines = this.gateway.output().split('\n')
    return lines.filter(line => line.includes('"event":"memory.compaction"')).map(line => JSON.parse(line))
  }

  async metric(name: string): Promise<string[]> {
    const page = await (await fetch(`${this.gateway.url}/metrics`)).text()
    return page.split('\n').filter(line => line.startsWith(name))
  }
}

/** Of a request with that key. */
export const headersOf = (key: string) => ({ authorization: `Bearer key-of-${key}-which-is-long-enough` })
/** Of the notes only what the model wrote. */
const lineOf = ({ role, content }: Asked['messages'][number]) => `${role}: ${content?.split('\n\n').at(-1) ?? ''}`

/** Starts both; `compaction`: of the configuration; `note`: how the model `notes` answers. */
export async function talking(
  t: Test,
  compaction: object,
  note: (response: ServerResponse, nth: number) => void | Promise<void> = response => completed(response, 'The notes.'),
  config: object = {}
): Promise<Talk> {
  const upstream = await fakeServer(async ({ body }, response) => {
    const asked = body as Asked
    if (asked.model === 'notes') return note(response, talk.noted.push(asked))
    talk.offered = (asked.tools ?? []).map(tool => tool.function.name)
    const query = /^Find (.*)/.exec(asked.messages.at(-1)?.content ?? '')?.[1]
    if (query) return searched(response, query)
    talk.talked.push(asked.messages.map(lineOf))
    completed(response, `Re: ${asked.messages.at(-1)?.content}`, asked.stream)
  })
  t.teardown(() => upstream.close())
  const key = (id: string) => ({ id, key: `key-of-${id}-which-is-long-enough` })
  const gateway = await startGateway({
    config: {
      default_model: 'up/talk',
      providers: [{ name: 'up', kind: 'openai', base_url: `${upstream.url}/v1`, retry: { max_retries: 0 } }],
      keys: [key('ann'), key('bob')],
      memory: { compaction: { model: 'up/notes', ...compaction } },
      ...config
    }
  })
  const talk = new Talk(gateway)
  t.teardown(() => gateway.stop())
  return talk
}

/** What every answer says it used. */
export const usage = { prompt_tokens: 40, completion_tokens: 2, total_tokens: 42 }

/** Answers with this text. */
export function completed(response: ServerResponse, content: string, isStream = false): void {
  if (!isStream) {
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'x', choices, usage }))
    return
  }
  const chunk = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  response.setHeader('content-type', 'text/event-stream')
  response.end(`${chunk({ content }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`)
}

function searched(response: ServerResponse, query: string): void {
  const call = { name: 'toolSearchTool', arguments: JSON.stringify({ query }) }
  const message = { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] }
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 'x', choices, usage }))
}

/** Waits for what comes in its own time; fails after ten seconds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    if (tries > 400) throw new Error('it did not come to that')
    await sleep(25)
  }
}
