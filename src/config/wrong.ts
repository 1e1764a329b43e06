import type { Path } from './path.ts'

/** Something in the configuration that cannot be, and where. */
export interface Wrong {
  readonly path: Path
  readonly message: string
}
