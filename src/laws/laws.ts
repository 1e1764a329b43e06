import { toolLoop } from '../advisors/tool-loop.ts'
import { advised, type Model } from '../core/turn.ts'
import { validArguments } from '../tools/guards/arguments.ts'
import { limits } from '../tools/guards/limits.ts'
import { broken } from './check.ts'
import { COMPANIONS } from './companions.ts'
import { play } from './play.ts'
import { type Random, random } from './random.ts'
import { randomScript } from './script.ts'
import type { Sessions } from './sessions.ts'
import type { Subject } from './subject.ts'
import { type TriedPlugin, triedPlugin } from './tried-plugin.ts'

export interface LawOptions {
  /** Random chains to try. Default 1,000. */
  readonly chains?: number
  /** The first chain's seed; a failure names the seed that shows it again. Default 1. */
  readonly seed?: number
}

/** A chain in which a law did not hold. */
export interface LawBroken {
  readonly seed: number
  /** Advisors from the outside in, the loop among them. */
  readonly chain: readonly string[]
  readonly laws: readonly string[]
}

/**
 * Holds an advisor against the laws that every chain must keep (architecture §3.5), in random company, order and
 * scripts, each as a call and as a stream:
 * usage is the sum over all model calls; every word is sent once, in order, and the answer last; call and stream
 * agree; the conversation stays whole, also in memory; nothing is sent or begun once the turn is over or the client has left.
 * An advisor is tried as it is made, or as the `plugin` that a module exports.
 * Resolves to the first chain that breaks one, or `undefined`. Throws nothing of its own.
 */
export async function laws(
  advisor: Subject | TriedPlugin,
  { chains = 1000, seed = 1 }: LawOptions = {}
): Promise<LawBroken | undefined> {
  const subject = 'plugin' in advisor ? triedPlugin(advisor) : advisor
  for (let at = seed; at < seed + chains; at++) {
    const dice = random(at)
    const { names, wrap } = randomChain(subject, dice)
    const script = randomScript(dice)
    const found = broken(await play(script, wrap, 'call'), await play(script, wrap, 'stream'))
    if (found.length > 0) return { seed: at, chain: names, laws: found }
  }
  return undefined
}

function randomChain(subject: Subject, dice: Random) {
  const company = [subject, ...COMPANIONS.filter(() => dice.oneIn(2))]
  const placed = dice.shuffled(company).map(each => ({ each, place: dice.pick(each.places) }))
  const at = (place: 'turn' | 'call') => placed.filter(one => one.place === place).map(({ each }) => each)
  const [outside, inside] = [at('turn'), at('call')]
  const loop = {
    guards: [limits, validArguments],
    failTurnOn: dice.oneIn(8) ? ['tool_http_*'] : [],
    eligibleFinish: dice.oneIn(8) ? [dice.pick(['tool_calls', 'stop'])] : undefined
  }
  const wrap = (model: Model, sessions: Sessions) => {
    const create = (subjects: Subject[]) => subjects.map(each => each.create(sessions))
    return advised(model, ...create(outside), toolLoop(loop), ...create(inside))
  }
  return { names: [...outside.map(({ name }) => name), 'tool-loop', ...inside.map(({ name }) => name)], wrap }
}

export type { Subject, TriedPlugin }
