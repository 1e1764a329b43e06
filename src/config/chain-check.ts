import { ADVISORS } from './sections/turn.ts'
import type { Wrong } from './wrong.ts'

export type Place = keyof typeof ADVISORS

/** An advisor that is not built in, and the lists it may stand in. */
export interface AddedAdvisor {
  readonly name: string
  readonly places: readonly Place[]
}

/**
 * What is wrong with the two lists of advisors: unknown names, wrong lists, a name twice, the loop, no meter. `added`:
 * remote advisors and those of plugins, beside the built-in ones.
 */
export function chainProblems(
  chain: Readonly<Record<Place, readonly string[]>>,
  added: readonly AddedAdvisor[] = []
): Wrong[] {
  const known = { turn: allowedIn('turn', added), call: allowedIn('call', added) }
  const seen = new Set<string>()
  const problems: Wrong[] = []
  for (const place of ['turn', 'call'] as const) {
    for (const [i, name] of chain[place].entries()) {
      const message = seen.has(name) ? `${name} is listed twice` : complaint(place, name, known)
      seen.add(name)
      if (message !== undefined) problems.push({ path: ['chain', place, i], message })
    }
  }
  const outside = chain.turn.indexOf('structured-output')
  if (outside !== -1 && outside < chain.turn.indexOf('memory')) {
    const message = 'structured-output must stand after memory, which would remember refused answers'
    problems.push({ path: ['chain', 'turn', outside], message })
  }
  if (!seen.has('meter')) problems.push({ path: ['chain', 'call'], message: 'meter may not be left out' })
  return problems
}

function allowedIn(place: Place, added: readonly AddedAdvisor[]): readonly string[] {
  return [...ADVISORS[place], ...added.filter(({ places }) => places.includes(place)).map(({ name }) => name)]
}

function complaint(place: Place, name: string, known: Readonly<Record<Place, readonly string[]>>): string | undefined {
  if (known[place].includes(name)) return undefined
  if (name === 'tool-loop') return 'tool-loop may not be listed; it stands between the two lists'
  const other = place === 'turn' ? 'call' : 'turn'
  if (known[other].includes(name)) return `${name} belongs under ${other}`
  return `there is no advisor named ${name}; known here are ${known[place].join(', ')}`
}
