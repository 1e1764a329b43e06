import type { Counter, Registry } from 'prom-client'

/** One line of a counter or gauge. */
export interface Count {
  value: number
}

/** Counts of one histogram, one a label set. */
export interface Tally {
  observe(value: number): void
}

/** A metric with its label sets. */
export interface Family<T> {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labelNames: readonly string[]
  /** The child of these label values, in the order of `labelNames`; always the same one. Keep it where speed matters. */
  labels(...values: readonly string[]): T
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly metricName: string
}

export interface FamilyOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  /** So many of what is counted are one of the metric's unit. Default 1. */
  readonly perUnit?: number
}

/**
 * Families that count by adding to a number. prom-client's own classes hash the labels at every call, also those of a
 * child: 1.1 µs an observation against 0.1 µs (measured), 15 of them a plain turn. Its registry writes the page.
 */
export function countFamily(registry: Registry, type: 'counter' | 'gauge', options: FamilyOptions): Family<Count> {
  const family = familyOf<Count>(type, options, () => ({ value: 0 }))
  register(registry, family, (labels, count) => [
    { labels, value: count.value / (options.perUnit ?? 1), metricName: options.name }
  ])
  // Without labels there is but one line; it stands on the page from the start, as 0.
  if (options.labelNames.length === 0) family.labels()
  return family
}

/** `buckets` are upper bounds, rising; the last, infinite one is added. */
export function histogramFamily(registry: Registry, options: FamilyOptions, buckets: readonly number[]): Family<Tally> {
  const family = familyOf('histogram', options, () => new BucketTally(buckets))
  register(registry, family, (labels, tally) => tally.samples(options.name, labels))
  return family
}

interface KeptFamily<T> extends Family<T> {
  readonly kept: ReadonlyMap<string, { readonly labels: Record<string, string>; readonly child: T }>
}

function familyOf<T>(type: Family<T>['type'], options: FamilyOptions, create: () => T): KeptFamily<T> {
  const kept = new Map<string, { labels: Record<string, string>; child: T }>()
  return {
    ...options,
    type,
    kept,
    labels(...values) {
      const key = values.join('\n')
      let found = kept.get(key)
      if (found === undefined) {
        const labels = Object.fromEntries(options.labelNames.map((name, i) => [name, values[i] ?? '']))
        found = { labels, child: create() }
        kept.set(key, found)
      }
      return found.child
    }
  }
}

function register<T>(
  registry: Registry,
  family: KeptFamily<T>,
  samplesOf: (labels: Record<string, string>, child: T) => Sample[]
): void {
  const { name, help, type, kept } = family
  const get = async () => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: [...kept.values()].flatMap(({ labels, child }) => samplesOf(labels, child))
  })
  // The registry reads `name` and `get`; its type asks for a whole class of the package.
  registry.registerMetric({ name, get } as unknown as Counter)
}

class BucketTally implements Tally {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Array<number>(bounds.length + 1).fill(0)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let i = 0
    while (i < bounds.length && value > (bounds[i] as number)) i++
    this.#counts[i] = (this.#counts[i] as number) + 1
    this.#sum += value
  }

  samples(name: string, labels: Record<string, string>): Sample[] {
    let below = 0
    const buckets = this.#counts.map((count, i) => {
      below += count
      const le = i < this.#bounds.length ? String(this.#bounds[i]) : '+Inf'
      return { labels: { ...labels, le }, value: below, metricName: `${name}_bucket` }
    })
    return [
      ...buckets,
      { labels, value: this.#sum, metricName: `${name}_sum` },
      { labels, value: below, metricName: `${name}_count` }
    ]
  }
}
