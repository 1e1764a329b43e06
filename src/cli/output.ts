/** Where a command writes; whole lines. */
export interface Output {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}
