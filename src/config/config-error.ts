/** One thing that is wrong with a configuration, and where. */
export interface Problem {
  /** `tools[0].endpoint.url`; empty for the file as a whole. */
  readonly path: string
  /** From 1; absent where the place is not in the file. */
  readonly line?: number
  /** What is wrong and what is allowed. Never holds a value that may be secret. */
  readonly message: string
}

/** A configuration that cannot be used. `message` has one line a problem: `gateway.yaml:12 tools[0].name: …`. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  /** As named by whoever asked; `configuration` when there is no file. */
  readonly file: string
  /** In the order of their lines. */
  readonly problems: readonly Problem[]

  constructor(file: string, problems: readonly Problem[]) {
    const sorted = problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
    super(sorted.map(problem => lineOf(file, problem)).join('\n'))
    this.file = file
    this.problems = sorted
  }
}

function lineOf(file: string, { path, line, message }: Problem): string {
  return `${file}${line === undefined ? '' : `:${line}`}${path && ` ${path}`}: ${message}`
}
