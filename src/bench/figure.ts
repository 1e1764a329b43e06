import type { LoadResult } from './load.ts'

/** Medians over the rounds. */
export interface Figure {
  /** CPU time of the process in the middle, µs a request. */
  readonly cpu_us: number
  readonly requests_per_s: number
  readonly p50_us: number
  readonly p99_us: number
}

/** From the results of the rounds, at least one. */
export function figureOf(results: readonly LoadResult[]): Figure {
  const median = (of: (result: LoadResult) => number) => {
    const sorted = results.map(of).sort((a, b) => a - b)
    return Number((sorted[Math.floor(sorted.length / 2)] ?? Number.NaN).toFixed(1))
  }
  return {
    cpu_us: median(({ cpuMicros, requests }) => cpuMicros / requests),
    requests_per_s: median(({ requests, seconds }) => requests / seconds),
    p50_us: median(({ p50Micros }) => p50Micros),
    p99_us: median(({ p99Micros }) => p99Micros)
  }
}
