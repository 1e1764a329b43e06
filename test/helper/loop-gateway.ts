import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGateway } from '../../src/cases/gateway.ts'
import { framesOf } from './edge.ts'
import { jsonServer } from './json-server.ts'

type Json = ReturnType<typeof JSON.parse>

/** One answer of the model: what it says, whom it calls, what it used. */
export interface ModelRound {
  readonly text?: string
  /** Pieces of the text in a stream; by default it comes whole. */
  readonly pieces?: readonly string[]
  readonly calls?: readonly ModelCall[]
  /** Prompt, completion and total tokens, and more of `usage` as it is spelled. */
  readonly usage?: readonly [prompt: number, completion: number, total: number, more?: object]
  readonly finish?: string
  /** In place of an answer: the model fails with this status. */
  readonly status?: number
  /** The whole JSON answer in place of one made of the rest; for calls only. */
  readonly raw?: object
}

export type ModelCall = readonly [tool: string, parameters?: object | string, id?: string]

/** A tool of the gateway, its HTTP answer by the body of the call. */
export interface LoopTool {
  /** Of its registration; a name, an endpoint and an open schema are filled in. */
  readonly definition?: object
  answer(
    parameters: Json,
    body: Json
  ): {
    readonly status?: number
    readonly body?: string
    readonly type?: string
    readonly waitMs?: number
  }
}

export interface LoopAnswer {
  /** The name that was asked for: to ask the same again. */
  readonly model: string
  readonly status: number
  readonly headers: Headers
  readonly content: string
  /** Pieces of text, in a stream. */
  readonly pieces: readonly string[]
  /** Finish reasons told; there must be one. */
  readonly finish: readonly string[]
  /** Every usage that was told. */
  readonly usage: readonly Json[]
  /** Calls that the client was handed. */
  readonly calls: readonly Json[]
  readonly loopgate: Json
  readonly error: Json
  /** Bodies that the model was asked with, a round each. */
  readonly requests: readonly Json[]
  /** Calls that reached the tools, in order of arrival: `name {"arguments":1}`. */
  readonly called: readonly string[]
}

export interface Question {
  /** Of the request; model and one question are filled in. A model of an earlier question goes on with its rounds. */
  readonly body?: object
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

export interface LoopGateway {
  readonly url: string
  /** Asks one question of a model that plays the rounds. The gateway, the model and the tools talk over sockets. */
  ask(rounds: readonly ModelRound[], stream?: boolean, question?: Question): Promise<LoopAnswer>
  /** Asks the same as a call and then as a stream. */
  both(rounds: readonly ModelRound[], question?: Question): Promise<readonly [call: LoopAnswer, stream: LoopAnswer]>
  /** Rounds for a model of its own, whose name this is: for clients of their own. */
  script(rounds: readonly ModelRound[]): string
  /** Calls that have reached the tools so far. */
  calls(): readonly string[]
  /** Ends the process as a power cut would. */
  crash(): Promise<void>
  /** Another process on the same data, in front of the same model and tools. */
  restart(): Promise<LoopGateway>
  stop(): Promise<void>
}

/** A gateway process between a fake model and fake tools. `config` is added to its file. */
export async function loopGateway(
  tools: Readonly<Record<string, LoopTool>>,
  config: Record<string, unknown> = {}
): Promise<LoopGateway> {
  const called: string[] = []
  const scripts = new Map<string, { rounds: readonly ModelRound[]; readonly requests: Json[] }>()
  const endpoints = await jsonServer((body, response, path) => {
    const call = body.data.call
    called.push(`${call.tool} ${JSON.stringify(call.arguments)}`)
    const answer = tools[path]?.answer(call.arguments, body) ?? {}
    const { status = 200, body: text = '', type = 'application/json', waitMs } = answer
    const send = () => response.writeHead(status, { 'content-type': type }).end(text)
    if (waitMs === undefined) send()
    else setTimeout(send, waitMs)
  })
  const upstream = await jsonServer((body, response) => {
    const script = scripts.get(body.model)
    script?.requests.push(body)
    const round = script?.rounds[script.requests.length - 1] ?? { text: '(script used up)' }
    if (round.status !== undefined) response.writeHead(round.status).end('{"error":{"message":"down"}}')
    else if (body.stream) streamed(round, response)
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(completion(round)))
  })
  const definitions = Object.entries(tools).map(([name, { definition }]) => ({
    name,
    input_schema: { type: 'object' },
    endpoint: { url: `${endpoints.url}/${name}`, egress_policy: 'internal' },
    ...definition
  }))
  const folder = mkdtempSync(join(tmpdir(), 'loopgate-data-'))
  const whole = {
    store: { path: join(folder, 'loopgate.db') },
    secrets: { key_file: join(folder, 'kek') },
    default_model: 'up/m',
    providers: [{ name: 'up', kind: 'openai', base_url: `${upstream.url}/v1` }],
    tools: definitions,
    tool_search: { mode: 'off' },
    ...config
  }
  const script = (rounds: readonly ModelRound[]) => {
    const model = `m${scripts.size + 1}`
    scripts.set(model, { rounds, requests: [] })
    return `up/${model}`
  }
  /** The model of a question: its own, or one that was there before. */
  const modelOf = (rounds: readonly ModelRound[], named: string | undefined) => {
    const known = scripts.get(named?.replace('up/', '') ?? '')
    if (known === undefined || named === undefined) return script(rounds)
    if (rounds.length > 0) known.rounds = [...known.rounds.slice(0, known.requests.length), ...rounds]
    return named
  }
  const start = async (): Promise<LoopGateway> => {
    const gateway = await startGateway({ config: whole })
    const loop: LoopGateway = {
      url: gateway.url,
      script,
      calls: () => called,
      restart: start,
      async ask(rounds, stream = false, { body, headers, signal } = {}) {
        const model = modelOf(rounds, (body as { model?: string } | undefined)?.model)
        const requests = scripts.get(model.replace('up/', ''))?.requests ?? []
        const asked = requests.length
        const before = called.length
        const question = { model, messages: [{ role: 'user', content: 'What is it?' }], stream }
        const { loopgate, ...rest } = { loopgate: {}, ...body }
        const counted = stream && { stream_options: { include_usage: true } }
        const response = await fetch(`${gateway.url}/v1/chat/completions`, {
          ...{ method: 'POST', ...(signal && { signal }) },
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ ...question, ...counted, loopgate: { include: ['rounds'], ...loopgate }, ...rest })
        })
        const answer = readAnswer(await response.text())
        const { status, headers: answered } = response
        return {
          model,
          status,
          headers: answered,
          ...answer,
          requests: requests.slice(asked),
          called: called.slice(before)
        }
      },
      both: async (rounds, question) => [
        await loop.ask(rounds, false, question),
        await loop.ask(rounds, true, question)
      ],
      async crash() {
        const ended = once(gateway.process, 'exit')
        gateway.process.kill('SIGKILL')
        await ended
      },
      async stop() {
        await gateway.stop()
        for (const each of [endpoints, upstream]) each.close()
        rmSync(folder, { recursive: true, force: true })
      }
    }
    return loop
  }
  return start()
}

function toolCalls({ calls = [] }: ModelRound) {
  return calls.map(([name, parameters = {}, id], index) => ({
    index,
    id: id ?? `call_${name}_${index}`,
    type: 'function',
    function: { name, arguments: typeof parameters === 'string' ? parameters : JSON.stringify(parameters) }
  }))
}

const finishOf = ({ finish, calls }: ModelRound) => finish ?? (calls ? 'tool_calls' : 'stop')
const usageOf = ({ usage }: ModelRound) =>
  usage && { prompt_tokens: usage[0], completion_tokens: usage[1], total_tokens: usage[2], ...usage[3] }

function completion(round: ModelRound): object {
  if (round.raw) return round.raw
  const content = round.text ?? round.pieces?.join('') ?? null
  const message = { role: 'assistant', content, ...(round.calls && { tool_calls: toolCalls(round) }) }
  const usage = usageOf(round)
  return {
    ...{ id: 'up', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, message, finish_reason: finishOf(round) }],
    ...(usage && { usage })
  }
}

function streamed(round: ModelRound, response: ServerResponse): void {
  const chunk = (more: object) => {
    const whole = { id: 'up', object: 'chat.completion.chunk', created: 1, model: 'm', ...more }
    response.write(`data: ${JSON.stringify(whole)}\n\n`)
  }
  const choice = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] })
  response.setHeader('content-type', 'text/event-stream')
  for (const content of round.pieces ?? (round.text === undefined ? [] : [round.text])) choice({ content })
  for (const call of toolCalls(round)) choice({ tool_calls: [call] })
  choice({}, finishOf(round))
  const usage = usageOf(round)
  if (usage) chunk({ choices: [], usage })
  response.end('data: [DONE]\n\n')
}

/** What a client makes of an answer, whichever way it came. */
function readAnswer(whole: string) {
  const text = whole.replace(/^id: .*\n/gm, '')
  if (!text.startsWith('data: ')) {
    const { choices = [], usage, loopgate, error } = JSON.parse(text)
    const { message, finish_reason } = choices[0] ?? {}
    return {
      content: message?.content ?? '',
      pieces: [],
      finish: choices.length > 0 ? [finish_reason] : [],
      usage: usage ? [usage] : [],
      calls: message?.tool_calls ?? [],
      loopgate,
      error
    }
  }
  const frames = framesOf(text).filter(frame => frame !== '[DONE]')
  const choices = frames.flatMap(frame => frame.choices ?? [])
  const pieces: string[] = choices.map(({ delta }) => delta.content).filter(Boolean)
  return {
    content: pieces.join(''),
    pieces,
    finish: choices.map(({ finish_reason }) => finish_reason).filter(Boolean),
    usage: frames.map(({ usage }) => usage).filter(Boolean),
    calls: choices.flatMap(({ delta }) => delta.tool_calls ?? []),
    loopgate: frames.findLast(({ loopgate }) => loopgate)?.loopgate,
    error: frames.find(({ error }) => error)?.error
  }
}
