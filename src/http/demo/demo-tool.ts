/** A tool of the demonstration: what it is registered with, and what its endpoint answers. */
export interface DemoTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the properties. */
  readonly properties: Readonly<Record<string, unknown>>
  readonly required: readonly string[]
  readonly annotations: { readonly read_only?: boolean; readonly destructive?: boolean; readonly idempotent?: boolean }
  answer(args: Readonly<Record<string, unknown>>, now: Date): DemoAnswer
}

/** `refused`: the endpoint answers 422 with this message. */
export type DemoAnswer = { readonly result: unknown } | { readonly refused: string }
