/** The frames of an event stream as a client reads them, strictly. */
export interface Frame {
  /** All lines, without the blank one. */
  readonly lines: readonly string[]
  /** Joined `data:` lines; absent when there is none. */
  readonly data?: string
  readonly event?: string
  readonly isComment: boolean
  /** Is the blank line after it there? */
  readonly isWhole: boolean
}

export function framesOf(text: string): readonly Frame[] {
  const blocks = text.split('\n\n')
  const rest = blocks.pop() ?? ''
  const whole = blocks.map(block => frameOf(block, true))
  return rest === '' ? whole : [...whole, frameOf(rest, false)]
}

function frameOf(block: string, isWhole: boolean): Frame {
  const lines = block.split('\n')
  const data = fieldOf(lines, 'data')
  const event = fieldOf(lines, 'event')
  return {
    lines,
    ...(data !== undefined && { data }),
    ...(event !== undefined && { event }),
    isComment: lines.every(line => line.startsWith(':')),
    isWhole
  }
}

function fieldOf(lines: readonly string[], name: string): string | undefined {
  const values = lines
    .filter(line => line === name || line.startsWith(`${name}:`))
    .map(line => line.slice(name.length + 1).replace(/^ /, ''))
  return values.length === 0 ? undefined : values.join('\n')
}
