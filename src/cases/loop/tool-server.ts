import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FakeRequest, fakeServer } from '../fake-server.ts'
import { fieldsOf, isFields, numberOf } from '../fields.ts'
import { parsed } from '../same-value.ts'
import type { LoopTurn } from './case.ts'

export interface ToolServer {
  readonly url: string
  /** From now on these results; `batch` names the calls of the round under way. */
  begin(results: LoopTurn['toolResults'], batch: () => readonly string[]): void
  /** The calls since then, in the order of rounds and batches, not of their arrival. */
  executed(): readonly { readonly name: string; readonly arguments: unknown }[]
  close(): Promise<void>
}

interface Call {
  readonly name: string
  readonly arguments: unknown
  readonly round: number
  readonly index: number
}

/** How long a call waits for one of the same tool that stands before it in its batch, which may never be made. */
const WAIT_MS = 100

/** Webhooks, `/tools/<name>`, that give their results in the order of the calls. */
export async function toolServer(): Promise<ToolServer> {
  let results: LoopTurn['toolResults'] = {}
  let batch: () => readonly string[] = () => []
  let calls: Call[] = []

  const server = await fakeServer(async (request, response) => {
    const call = callOf(request)
    const made = calls
    made.push(call)
    await earlierOnes(call, made, batch())
    const nth = made.filter(one => one.name === call.name && before(one, call)).length
    const values = results[call.name] ?? []
    reply(values[Math.min(nth, values.length - 1)], response)
  })
  return {
    url: server.url,
    begin(nextResults, nextBatch) {
      results = nextResults
      batch = nextBatch
      calls = []
    },
    executed: () =>
      calls
        .toSorted((a, b) => a.round - b.round || a.index - b.index)
        .map(({ name, arguments: values }) => ({ name, arguments: values })),
    close: server.close
  }
}

function callOf({ path, body }: FakeRequest): Call {
  const call = fieldsOf(fieldsOf(fieldsOf(body).data).call)
  return {
    name: path.slice('/tools/'.length),
    arguments: call.arguments,
    round: numberOf(call.iteration) ?? 0,
    index: numberOf(call.index) ?? 0
  }
}

/** Waits for the calls of the same tool that stand before this one in its batch; refused ones never come. */
async function earlierOnes(call: Call, made: readonly Call[], batch: readonly string[]): Promise<void> {
  const expected = batch.slice(0, call.index).filter(name => name === call.name).length
  const here = () => made.filter(one => one.name === call.name && one.round === call.round && before(one, call)).length
  for (const end = performance.now() + WAIT_MS; here() < expected && performance.now() < end; ) await sleep(5)
}

function before(a: Call, b: Call): boolean {
  return a.round < b.round || (a.round === b.round && a.index < b.index)
}

/** A recorded result as an answer of a webhook (contract §16). */
function reply(result: unknown, response: ServerResponse): void {
  const json = (status: number, body: unknown) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (isFields(result) && '$error' in result) {
    if (result.$error === 'runtime') json(422, { error: { message: result.message } })
    else response.writeHead(result.$error === 'blank' ? 422 : 500).end()
  } else if (typeof result === 'string') json(200, parsed(result)?.value ?? result)
  else json(200, result ?? null)
}
