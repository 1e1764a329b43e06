import type { ToolSearchPolicy } from './policy.ts'

export interface MaxResults {
  /** When nothing usable was asked for. */
  readonly byDefault: number
  /** The most that can be asked for; the least is 1. */
  readonly most: number
}

/** The numbers that hold for a search (contract §5): what a model is told, and what it gets, come from here alike. */
export function maxResultsOf(policy: Pick<ToolSearchPolicy, 'maxResults' | 'maxResultsLimit'>): MaxResults {
  const most = policy.maxResultsLimit ?? policy.maxResults ?? 10
  return { byDefault: Math.min(policy.maxResults ?? 5, most), most }
}

/** How many results the asker gets: numbers outside are clamped, fractions floored, what is no number is absent. */
export function clampResults(asked: unknown, { byDefault, most }: MaxResults): number {
  const number = typeof asked === 'string' && asked.trim() !== '' ? Number(asked) : asked
  if (typeof number !== 'number' || Number.isNaN(number)) return byDefault
  return Math.min(Math.max(Math.floor(number), 1), most)
}
