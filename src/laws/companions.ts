import { audit } from '../advisors/audit.ts'
import { memory } from '../advisors/memory.ts'
import { meter } from '../advisors/meter.ts'
import { retry } from '../advisors/retry.ts'
import { structuredOutput } from '../advisors/structured-output.ts'
import { toolSearch } from '../advisors/tool-search.ts'
import { rewrite } from '../core/rewrite.ts'
import { addUsage } from '../core/usage.ts'
import { finder } from './finder.ts'
import { remoteAdvisor } from './remote.ts'
import { SEARCH_TOOL } from './script.ts'
import type { Subject } from './subject.ts'
import { TOOL_CHANGERS } from './tool-changers.ts'

/** Takes the digit 7 out of all that is said: one algorithm for both modes, by `rewrite`. */
const mask: Subject = {
  name: 'mask',
  places: ['turn', 'call'],
  create: () => ({
    name: 'mask',
    advise: (turn, next) =>
      rewrite(turn, next, out => ({
        write: delta => out(delta.type === 'text' ? { ...delta, text: delta.text.replaceAll('7', '#') } : delta),
        end: () => undefined
      }))
  })
}

/** Asks once for nobody to hear, then again: whoever asks twice pays twice. */
const twice: Subject = {
  name: 'twice',
  places: ['turn'],
  create: () => ({
    name: 'twice',
    async advise(turn, next) {
      const first = await next({ ...turn, emit: undefined })
      const second = await next(turn)
      const usage = addUsage(first.usage, second.usage)
      return { ...second, ...(usage && { usage }) }
    }
  })
}

/** What the advisor under test meets in random company. */
export const COMPANIONS: readonly Subject[] = [
  mask,
  twice,
  { name: 'audit', places: ['turn', 'call'], create: () => audit() },
  { name: 'meter', places: ['call'], create: () => meter() },
  { name: 'retry', places: ['call'], create: () => retry({ maxRetries: 1, minMs: 0, maxMs: 0 }) },
  { name: 'memory', places: ['turn'], create: store => memory({ store }) },
  remoteAdvisor,
  ...TOOL_CHANGERS,
  {
    name: 'structured-output',
    places: ['turn'],
    // What the scripts say is no JSON: an answer is right when it has an even number of words.
    create: () => structuredOutput({ judge: () => text => (isEven(text) ? [] : ['odd']), modeOf: () => 'prompt' })
  },
  {
    name: 'tool-search',
    places: ['call'],
    create: store => toolSearch({ finder, store, toolName: SEARCH_TOOL, autoMinTokens: 0 })
  }
]

function isEven(text: string): boolean {
  return [...text.matchAll(/w/g)].length % 2 === 0
}
