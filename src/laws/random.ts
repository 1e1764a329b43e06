/** Small seeded random numbers, so that a broken law can be shown again by its seed. */
export interface Random {
  /** A whole number from 0 to below `n`. */
  below(n: number): number
  /** True once in `n` times. */
  oneIn(n: number): boolean
  /** One of them. */
  pick<T>(choices: readonly T[]): T
  /** The same things in a random order. */
  shuffled<T>(things: readonly T[]): T[]
}

/** The same seed gives the same numbers (mulberry32, public domain). */
export function random(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const below = (n: number) => Math.floor(next() * n)
  return {
    below,
    oneIn: n => below(n) === 0,
    pick: choices => choices[below(choices.length)] as (typeof choices)[number],
    shuffled: things => {
      const rest = [...things]
      return things.map(() => rest.splice(below(rest.length), 1)[0] as (typeof things)[number])
    }
  }
}
