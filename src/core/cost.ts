import type { Usage } from './chat.ts'

/** What a model charges, in USD per million tokens: the same number as micro-dollars per token. */
export interface Price {
  readonly prompt: number
  /** Reasoning is a part of the completion, and charged as such. */
  readonly completion: number
  /** For the part of the prompt that came out of the provider's cache. Default: `prompt`. */
  readonly cached?: number | undefined
  /** For the part that went into it. Default: `prompt`. */
  readonly cacheWrite?: number | undefined
}

/** Whole micro-dollars (USD ÷ 1,000,000). */
export interface Cost {
  readonly micros: number
  /** The same by kind of token: the sum is exactly `micros`. */
  readonly ofKind: Readonly<Record<CostKind, number>>
}

export type CostKind = 'prompt' | 'completion' | 'cached' | 'cacheWrite'

/** Prices are read to this fraction of a micro-dollar; amounts are added up in it, as whole numbers. */
const PARTS = 1_000_000

/**
 * What a model call cost. Cached tokens are a part of the prompt and charged apart where the price says so. Added up
 * exactly, then rounded up to the next micro-dollar: once for the call, not once a kind.
 */
export function costOf(usage: Usage, price: Price): Cost {
  const cached = price.cached === undefined ? 0 : (usage.cached ?? 0)
  const cacheWrite = price.cacheWrite === undefined ? 0 : (usage.cacheWrite ?? 0)
  const charged: readonly (readonly [CostKind, number, number])[] = [
    ['prompt', Math.max(0, usage.prompt - cached - cacheWrite), price.prompt],
    ['completion', usage.completion, price.completion],
    ['cached', cached, price.cached ?? 0],
    ['cacheWrite', cacheWrite, price.cacheWrite ?? 0]
  ]
  const ofKind: Record<CostKind, number> = { prompt: 0, completion: 0, cached: 0, cacheWrite: 0 }
  let sum = 0n
  let micros = 0
  for (const [kind, tokens, each] of charged) {
    sum += whole(tokens) * whole(each * PARTS)
    // Each kind has what the rounded sum grew by.
    const upTo = Number((sum + BigInt(PARTS) - 1n) / BigInt(PARTS))
    ofKind[kind] = upTo - micros
    micros = upTo
  }
  return { micros, ofKind }
}

/** A provider may count in anything. */
function whole(value: number): bigint {
  return Number.isFinite(value) ? BigInt(Math.round(value)) : 0n
}
