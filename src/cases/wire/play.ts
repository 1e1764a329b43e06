import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '../case-kind.ts'
import { type Fields, fieldsOf } from '../fields.ts'
import { type Gateway, startGateway } from '../gateway.ts'
import { metricSum, metricsOf } from '../metrics.ts'
import { answersOf, type WireCase } from './case.ts'
import { readAnswer } from './client.ts'
import { wireConfig } from './config.ts'
import type { ClientSaw, WireObservation } from './observation.ts'
import { type FakeUpstream, fakeUpstream } from './upstream.ts'
import { type FakeWebhooks, fakeWebhooks } from './webhooks.ts'

/** How long what was left behind (upstream, webhook, turn) may take to come to its end. */
const SETTLE_MS = 2500
/** Between two looks. */
const LOOK_MS = 10

/** Cases with the same configuration and tools share a gateway. */
export function groupOfWire(one: WireCase): string {
  try {
    return JSON.stringify(wireConfig(one, '', ''))
  } catch {
    return one.id
  }
}

/** Starts the gateway of a case with a fake upstream and fake webhooks. */
export async function openWire(one: WireCase): Promise<Stage<WireCase, WireObservation>> {
  const [upstream, webhooks] = await Promise.all([fakeUpstream(), fakeWebhooks()])
  const close = () => Promise.all([upstream.close(), webhooks.close()])
  try {
    const gateway = await startGateway({ config: wireConfig(one, upstream.url, webhooks.url) })
    return {
      play: next => playWire(next, gateway, upstream, webhooks),
      isUsable: gateway.isAlive,
      close: async () => void (await Promise.all([gateway.stop(), close()]))
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function playWire(
  one: WireCase,
  gateway: Gateway,
  upstream: FakeUpstream,
  webhooks: FakeWebhooks
): Promise<WireObservation> {
  const began = performance.now()
  const clock = () => Math.round(performance.now() - began)
  const said = gateway.output().length
  const endedBefore = await turnsEnded(gateway)
  upstream.begin(answersOf(one), clock)
  webhooks.begin(one.gatewayTools ?? [], clock)

  const client = await readAnswer(gateway.url, one, clock)
  const settledMs = await settled(gateway, client, endedBefore, clock)
  await until(() => !upstream.isBusy() && !webhooks.isBusy())
  const run = await runView(gateway, client, said)
  const page = gateway.isAlive() ? await metricsOf(gateway.url) : ''
  return {
    client,
    upstream: upstream.seen(),
    webhooks: webhooks.seen(),
    ...(run && { run }),
    ...(settledMs !== undefined && { settledMs }),
    bufferedBytesPeak: metricSum(page, 'loopgate_stream_buffered_bytes_peak'),
    alive: await isHealthy(gateway)
  }
}

/** When the turn of a client that left ended, as the gateway counts it. */
async function settled(
  gateway: Gateway,
  { hasLeft }: ClientSaw,
  endedBefore: number,
  clock: () => number
): Promise<number | undefined> {
  if (!hasLeft) return undefined
  const isOver = await until(async () => (await turnsEnded(gateway)) > endedBefore)
  return isOver ? clock() : undefined
}

async function turnsEnded(gateway: Gateway): Promise<number> {
  return gateway.isAlive() ? metricSum(await metricsOf(gateway.url), 'loopgate_turns_total') : 0
}

/** The run view once the turn is over. A client that left before the head finds the turn's id in the log. */
async function runView(gateway: Gateway, client: ClientSaw, said: number): Promise<Fields | undefined> {
  let run: Fields | undefined
  const find = async () => {
    if (!gateway.isAlive()) return true
    const id = client.headers['x-loopgate-turn-id'] ?? loggedTurn(gateway.output().slice(said))
    if (id === undefined) return !client.hasLeft
    const response = await fetch(`${gateway.url}/v1/turns/${id}`)
    if (!response.ok) return false
    run = fieldsOf(await response.json())
    return run.status !== 'running'
  }
  await until(find)
  return run
}

function loggedTurn(output: string): string | undefined {
  const line = output.split('\n').findLast(text => text.includes('"event":"turn.end"'))
  return line === undefined ? undefined : /"turn_id":"([^"]+)"/.exec(line)?.[1]
}

async function isHealthy(gateway: Gateway): Promise<boolean> {
  if (!gateway.isAlive()) return false
  return fetch(`${gateway.url}/healthz`).then(
    ({ ok }) => ok,
    () => false
  )
}

/** Looks again and again until it holds; `false` when it did not within the time. */
async function until(holds: () => boolean | Promise<boolean>): Promise<boolean> {
  const end = performance.now() + SETTLE_MS
  for (;;) {
    if (await holds()) return true
    if (performance.now() > end) return false
    await sleep(LOOK_MS)
  }
}
