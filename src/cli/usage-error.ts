/** The command line itself is wrong: exit 2. The message says what would be right. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** Whose help is worth a look. */
  readonly command: string | undefined

  constructor(message: string, command?: string) {
    super(message)
    this.command = command
  }
}
