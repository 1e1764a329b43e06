import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Gateway, startGateway } from '../cases/gateway.ts'
import { type Random, random } from '../laws/random.ts'
import { broken } from './check.ts'
import { type Asked, ask } from './client.ts'
import { EFFECTS, planOf } from './plan.ts'
import { world } from './world.ts'

export interface CrashOptions {
  readonly kills: number
  /** Of the questions and of the killing; times are the machine's own. */
  readonly seed: number
}

export interface CrashReport {
  readonly kills: number
  readonly questions: number
  readonly answered: number
  readonly refused: Readonly<Record<string, number>>
  readonly retries: number
  readonly deliveries: number
  /** Deliveries beyond the first, under the same id. */
  readonly repeated: number
  /** What no run may show. */
  readonly broken: readonly string[]
}

const CLIENTS = 16
const POINTS = ['dispatch', 'settle', 'end', 'take', 'append', 'save']
/** After which a process that has not come to its point is killed all the same. */
const LONGEST_MS = 1500

/** Runs the load until the gateway was killed so often, then lets every question come to its end, and checks. */
export async function crash({ kills, seed }: CrashOptions): Promise<CrashReport> {
  const chance = random(seed)
  const folder = mkdtempSync(join(tmpdir(), 'loopgate-crash-'))
  const around = await world(() => chance.below(25))
  const path = join(folder, 'loopgate.db')
  const config = configuration(folder, path, around)
  let gateway: Gateway | undefined
  let overSince: number | undefined
  const url = () => gateway?.url ?? 'http://127.0.0.1:9'
  try {
    const clients = Array.from({ length: CLIENTS }, (_, n) => load(n, chance, { url, overSince: () => overSince }))
    for (let n = 0; n < kills; n++) {
      const point = n % 2 === 0 ? undefined : pointOf(chance)
      gateway = await startGateway({ config, env: point ? atPoint(point) : {} })
      await killed(gateway, point ? LONGEST_MS : 40 + chance.below(350))
    }
    gateway = await startGateway({ config })
    overSince = Date.now()
    const asked = (await Promise.all(clients)).flat()
    await gateway.stop()
    gateway = undefined
    return { kills, ...figures(asked, around.deliveries), broken: broken(path, around, asked) }
  } finally {
    overSince ??= Date.now()
    await gateway?.stop()
    await around.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Loaded {
  readonly url: () => string
  /** Since when nothing is killed any more; absent: it is. */
  readonly overSince: () => number | undefined
}

/** One client, question after question. */
async function load(n: number, chance: Random, { url, overSince }: Loaded): Promise<Asked[]> {
  const asked: Asked[] = []
  for (let count = 0; overSince() === undefined; count++) {
    asked.push(await ask(url, planOf(chance, count * CLIENTS + n), overSince))
    await sleep(chance.below(20))
  }
  return asked
}

function pointOf(chance: Random): string {
  return `${chance.pick(POINTS)}:${chance.pick(['before', 'after'])}:${1 + chance.below(12)}`
}

function atPoint(point: string): Record<string, string> {
  return { NODE_OPTIONS: `--import ${join(import.meta.dirname, 'points.ts')}`, LOOPGATE_CRASH_POINT: point }
}

/** The gateway ends by itself, or is ended after this time. */
async function killed({ process: child, stop }: Gateway, ms: number): Promise<void> {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined
  await Promise.race([ended, sleep(ms)])
  child.kill('SIGKILL')
  await ended
  await stop()
}

function configuration(folder: string, path: string, { modelUrl, toolsUrl }: { modelUrl: string; toolsUrl: string }) {
  const annotations = {
    read: { read_only: true },
    idempotent: { read_only: false, idempotent: true },
    write: { read_only: false }
  }
  return {
    ...{ store: { path }, secrets: { key_file: join(folder, 'kek') }, default_model: 'w/m' },
    providers: [{ name: 'w', kind: 'openai', base_url: `${modelUrl}/v1` }],
    ...{ tool_search: { mode: 'off' }, session: { queue_ms: 2000 }, log: { level: 'error' } },
    tools: EFFECTS.map(name => ({
      ...{ name, annotations: annotations[name], endpoint: { url: `${toolsUrl}/${name}`, egress_policy: 'internal' } },
      input_schema: { type: 'object', properties: { place: { type: 'string' } } }
    }))
  }
}

function figures(asked: readonly Asked[], deliveries: readonly { webhookId: string }[]) {
  const refused: Record<string, number> = {}
  for (const { refused: code } of asked) if (code !== undefined) refused[code] = (refused[code] ?? 0) + 1
  return {
    questions: asked.length,
    answered: asked.filter(({ answers }) => answers.length > 0).length,
    refused,
    retries: asked.reduce((sum, { retries }) => sum + retries, 0),
    deliveries: deliveries.length,
    repeated: deliveries.length - new Set(deliveries.map(({ webhookId }) => webhookId)).size
  }
}
