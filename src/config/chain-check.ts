import type { Path } from './path.ts'
import { ADVISORS } from './sections/turn.ts'

type Place = keyof typeof ADVISORS

interface Wrong {
  readonly path: Path
  readonly message: string
}

/** What is wrong with the two lists of advisors: unknown names, wrong lists, a name twice, the loop, no meter. */
export function chainProblems(chain: Readonly<Record<Place, readonly string[]>>): Wrong[] {
  const seen = new Set<string>()
  const problems: Wrong[] = []
  for (const place of ['turn', 'call'] as const) {
    for (const [i, name] of chain[place].entries()) {
      const message = seen.has(name) ? `${name} is listed twice` : complaint(place, name)
      seen.add(name)
      if (message !== undefined) problems.push({ path: ['chain', place, i], message })
    }
  }
  if (!seen.has('meter')) problems.push({ path: ['chain', 'call'], message: 'meter may not be left out' })
  return problems
}

function complaint(place: Place, name: string): string | undefined {
  const allowed: readonly string[] = ADVISORS[place]
  if (allowed.includes(name)) return undefined
  if (name === 'tool-loop') return 'tool-loop may not be listed; it stands between the two lists'
  const other = place === 'turn' ? 'call' : 'turn'
  if ((ADVISORS[other] as readonly string[]).includes(name)) return `${name} belongs under ${other}`
  return `there is no advisor named ${name}; known here are ${allowed.join(', ')}`
}
