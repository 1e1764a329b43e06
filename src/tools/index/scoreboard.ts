export const NAME = 1
export const DESCRIPTION = 2
export const PARAMETERS = 4

/** Scores of one search, by the tool's position; used again and again, since a search never waits. */
export class Scoreboard {
  readonly scores: Float64Array
  /** What matched: a sum of NAME, DESCRIPTION, PARAMETERS. */
  readonly fields: Uint8Array
  /** The tools that have a score or a field, in no order. */
  readonly touched: number[] = []
  readonly #seen: Uint8Array

  constructor(tools: number) {
    this.scores = new Float64Array(tools)
    this.fields = new Uint8Array(tools)
    this.#seen = new Uint8Array(tools)
  }

  add(tool: number, score: number, fields: number): void {
    if (this.#seen[tool] === 0) {
      this.#seen[tool] = 1
      this.touched.push(tool)
    }
    this.scores[tool] = (this.scores[tool] as number) + score
    this.fields[tool] = (this.fields[tool] as number) | fields
  }

  /** The highest score so far; 0 without any. */
  highest(): number {
    let highest = 0
    for (const tool of this.touched) highest = Math.max(highest, this.scores[tool] as number)
    return highest
  }

  /** The best `count` of the tools that are wanted; equal scores in order of registration. */
  best(count: number, wanted: (tool: number) => boolean): number[] {
    const best: number[] = []
    for (const tool of this.touched) {
      if (best.length === count && !this.#isBefore(tool, best[count - 1] as number)) continue
      if (!wanted(tool)) continue
      let at = best.length < count ? best.length : count - 1
      for (; at > 0 && this.#isBefore(tool, best[at - 1] as number); at--) best[at] = best[at - 1] as number
      best[at] = tool
    }
    return best
  }

  /** Leaves exactly those tools on the board whose name passes, also ones without a score. */
  keepNamed(passes: (tool: number) => boolean): void {
    this.touched.length = 0
    for (let tool = 0; tool < this.scores.length; tool++) {
      if (!passes(tool)) {
        this.#reset(tool)
        continue
      }
      this.touched.push(tool)
      this.#seen[tool] = 1
      this.fields[tool] = (this.fields[tool] as number) | NAME
    }
  }

  clear(): void {
    for (const tool of this.touched) this.#reset(tool)
    this.touched.length = 0
  }

  #reset(tool: number): void {
    this.scores[tool] = 0
    this.fields[tool] = 0
    this.#seen[tool] = 0
  }

  #isBefore(a: number, b: number): boolean {
    const [scoreA, scoreB] = [this.scores[a] as number, this.scores[b] as number]
    return scoreA > scoreB || (scoreA === scoreB && a < b)
  }
}
