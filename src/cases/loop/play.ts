import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '../case-kind.ts'
import { type Fields, fieldsOf, listOf } from '../fields.ts'
import { type Gateway, StartRefused, startGateway } from '../gateway.ts'
import { metricSum, metricsOf } from '../metrics.ts'
import { isStreamed, KNOWN, type LoopCase, type LoopTurn } from './case.ts'
import { chat, type Reply } from './client.ts'
import { definitionOf, hasTwins, loopConfig } from './config.ts'
import { type ModelServer, modelServer } from './model-server.ts'
import type { LoopObservation, TurnSaw } from './observation.ts'
import type { ReadCase } from './read.ts'
import { requestOf } from './request.ts'
import { type ToolServer, toolServer } from './tool-server.ts'

interface Scene {
  readonly gateway: Gateway
  readonly model: ModelServer
  readonly tools: ToolServer
  /** What is registered now, as JSON, by name. */
  readonly registered: Map<string, string>
}

const SETTLE_MS = 3000

/** Cases of one configuration and one set of tools share a gateway; with tool search none do, since they count indexes. */
export function groupOfLoop(one: LoopCase): string {
  if (one.config.toolSearch || hasTwins(one)) return one.id
  return JSON.stringify([loopConfig(one, '', ''), one.tools.map(tool => definitionOf(one, tool, ''))])
}

/** Starts the gateway of a case with a model server and a tool server. A refused start is something to observe. */
export async function openLoop(one: ReadCase): Promise<Stage<ReadCase, LoopObservation>> {
  const [model, tools] = await Promise.all([modelServer(), toolServer()])
  const close = () => Promise.all([model.close(), tools.close()])
  try {
    const gateway = await startGateway({ config: loopConfig(one, model.url, tools.url) })
    const scene: Scene = { gateway, model, tools, registered: new Map() }
    return {
      play: next => playLoop(next, scene),
      isUsable: gateway.isAlive,
      close: async () => void (await Promise.all([gateway.stop(), close()]))
    }
  } catch (error) {
    if (!(error instanceof StartRefused)) {
      await close()
      throw error
    }
    return {
      play: async () => refused(error, model),
      isUsable: () => true,
      close: async () => void (await close())
    }
  }
}

function refused({ exitCode, output }: StartRefused, model: ModelServer): LoopObservation {
  const requestsCount = model.requests().length
  return { start: 'refused', ...(exitCode !== undefined && { exit: exitCode }), output, requestsCount, turns: [] }
}

async function playLoop(one: ReadCase, scene: Scene): Promise<LoopObservation> {
  if (one.fault !== undefined) throw new Error(one.fault)
  demandKnown('config', one.config)
  for (const turn of one.turns) demandKnown('turn', turn)
  const firsts = one.tools.filter(({ name }, at) => one.tools.findIndex(tool => tool.name === name) === at)
  if (!hasTwins(one)) for (const tool of firsts) await register(scene, definitionOf(one, tool, scene.tools.url))
  const turns: TurnSaw[] = []
  for (const turn of one.turns) turns.push(await playTurn(one, turn, scene))
  return { start: 'ok', requestsCount: turns.reduce((sum, { requests }) => sum + requests.length, 0), turns }
}

/** A setting that is not known here would be left out silently. */
function demandKnown(what: 'config' | 'turn', given: object): void {
  const unknown = Object.keys(given).find(key => !KNOWN[what].includes(key))
  if (unknown !== undefined) throw new Error(`the runner does not know ${what}.${unknown}`)
}

async function playTurn(one: LoopCase, turn: LoopTurn, scene: Scene): Promise<TurnSaw> {
  const { gateway, model, tools } = scene
  for (const name of turn.tools ?? []) await chooseDefinition(one, name, scene)
  model.begin(turn.modelScript, one.mode)
  tools.begin(turn.toolResults, model.batch)
  const before = await counters(gateway, one)
  if (turn.evictBefore !== undefined) await evict(gateway, sessionName(one, turn.evictBefore))

  const named = turn.sessionId ?? one.config.sessionId
  const session = named === undefined ? undefined : sessionName(one, named)
  const replies = await converse(one, turn, gateway.url, session)
  const run = await runView(gateway, replies.at(-1)?.turnId)
  const after = await counters(gateway, one)
  const memory = session !== undefined && one.config.memory ? await recalled(gateway, session) : undefined
  return {
    requests: model.requests(),
    executed: tools.executed(),
    replies: replies.map(({ turnId: _, ...reply }) => reply),
    ...(run && { run }),
    ...(memory && { memory }),
    index: {
      builds: after.builds - before.builds,
      searches: after.searches - before.searches,
      view_evictions: after.view_evictions - before.view_evictions
    }
  }
}

/** The requests of one turn: one, or where the client runs the loop one a round. */
async function converse(
  one: LoopCase,
  turn: LoopTurn,
  url: string,
  session: string | undefined
): Promise<readonly Reply[]> {
  const stream = isStreamed(one, turn)
  let body = requestOf(one, turn, stream)
  const replies = [await chat(url, body, { session, leaveAfter: turn.cancelAfterChunks })]
  for (const decision of turn.userControl?.decisions ?? []) {
    const last = replies.at(-1)
    if (decision !== 'approve' || last === undefined || last.calls.length === 0) break
    const response = await postJson(`${url}/v1/tool-calls`, {
      ...(last.turnId === undefined ? { session_id: session } : { turn_id: last.turnId })
    })
    if (!response.ok) throw new Error(`POST /v1/tool-calls answered ${response.status}: ${await response.text()}`)
    const { messages } = fieldsOf(await response.json())
    const calls = last.calls.map(({ id, name, arguments: text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text }
    }))
    const asked = { role: 'assistant', content: last.content || null, tool_calls: calls }
    body = { ...body, messages: [...listOf(body.messages), asked, ...listOf(messages)] }
    replies.push(await chat(url, body, { session }))
  }
  return replies
}

/** Sessions of different cases on one gateway have nothing to do with each other. */
function sessionName(one: LoopCase, name: string): string {
  return `${name}.${one.id}`.slice(0, 128)
}

/** `name` and `name#0` are the first definition of that name, `name#1` the second. */
async function chooseDefinition(one: LoopCase, reference: string, scene: Scene): Promise<void> {
  const [name, nth = '0'] = reference.split('#')
  const tool = one.tools.filter(tool => tool.name === name)[Number(nth)]
  if (tool) await register(scene, definitionOf(one, tool, scene.tools.url))
}

async function register({ gateway, registered }: Scene, definition: Fields): Promise<void> {
  const name = String(definition.name)
  const text = JSON.stringify(definition)
  const now = registered.get(name)
  if (now === text) return
  const response =
    now === undefined
      ? await postJson(`${gateway.url}/v1/tools`, definition)
      : await postJson(`${gateway.url}/v1/tools/${name}`, definition, 'PUT')
  if (!response.ok) throw new Error(`the tool ${name} was not registered: ${response.status} ${await response.text()}`)
  registered.set(name, text)
}

function postJson(url: string, body: unknown, method = 'POST'): Promise<Response> {
  return fetch(url, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
}

async function evict({ url }: Gateway, session: string): Promise<void> {
  const response = await fetch(`${url}/v1/sessions/${session}/evict`, { method: 'POST' })
  if (response.status !== 204) throw new Error(`POST …/evict answered ${response.status}`)
}

async function counters({ url }: Gateway, { config }: LoopCase): Promise<TurnSaw['index']> {
  if (!config.toolSearch) return { builds: 0, searches: 0, view_evictions: 0 }
  const page = await metricsOf(url)
  return {
    builds: metricSum(page, 'loopgate_tool_index_builds_total'),
    searches: metricSum(page, 'loopgate_tool_searches_total'),
    view_evictions: metricSum(page, 'loopgate_tool_view_evictions_total')
  }
}

/** A session that nothing was written of is not there, and recalls nothing. */
async function recalled({ url }: Gateway, session: string): Promise<readonly Fields[]> {
  const response = await fetch(`${url}/v1/sessions/${session}?view=recall`)
  if (response.status === 404) return []
  if (!response.ok) throw new Error(`GET /v1/sessions/{id} answered ${response.status}: ${await response.text()}`)
  return listOf(fieldsOf(await response.json()).messages).map(fieldsOf)
}

/** The run view once the turn is over, if the turn came to be one. */
async function runView({ url }: Gateway, turnId: string | undefined): Promise<Fields | undefined> {
  if (turnId === undefined) return undefined
  for (const end = performance.now() + SETTLE_MS; performance.now() < end; await sleep(10)) {
    const response = await fetch(`${url}/v1/turns/${turnId}`)
    if (!response.ok) continue
    const run = fieldsOf(await response.json())
    if (run.status !== 'running') return run
  }
  return undefined
}
