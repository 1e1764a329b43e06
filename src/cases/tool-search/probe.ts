import type { CorpusTool } from './corpus.ts'
import { percent } from './figures.ts'

const PROBED = 300
const BUNDLE = 5
/** Far enough apart that the names of a bundle are not of one server. */
const STRIDE = 7

/** Three ways to ask for tools by name. */
export interface Probe {
  readonly texts: readonly string[]
  /** The figures of what the texts found, in their order. */
  figures(found: readonly (readonly string[])[]): Record<string, number>
}

/** Probes every ⌈n/300⌉th tool: by its name, by its name as words, and by five names at once (contract §16). */
export function probe(tools: readonly CorpusTool[]): Probe {
  const step = Math.max(1, Math.ceil(tools.length / PROBED))
  const names = tools.filter((_, position) => position % step === 0).map(({ name }) => name)
  const bundles = names.map((_, at) =>
    Array.from({ length: BUNDLE }, (_, nth) => names[(at + nth * STRIDE) % names.length] ?? '')
  )
  const count = names.length
  return {
    texts: [...names, ...names.map(asWords), ...bundles.map(bundle => bundle.join(' '))],
    figures(found) {
      const [byName, byWords, byBundle] = [found.slice(0, count), found.slice(count, 2 * count), found.slice(2 * count)]
      const isInTop5 = (names: readonly string[], list: readonly string[] = []) =>
        names.every(name => list.slice(0, 5).includes(name))
      return {
        exact1: percent(names.map((name, at) => Number(byName[at]?.[0] === name))),
        words5: percent(names.map((name, at) => Number(isInTop5([name], byWords[at])))),
        bundle5: percent(bundles.map((bundle, at) => Number(isInTop5(bundle, byBundle[at]))))
      }
    }
  }
}

function asWords(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_\-.]+/g, ' ')
    .toLowerCase()
}
