/** How well a text names a tool: 2 = as spelled, 1 = by its full name, 0.5 = by its last segment. */
export interface Named {
  readonly tool: number
  readonly weight: number
}

export interface NameTable {
  /** Tools of that name; case and separators ignored. */
  find(name: string): readonly Named[]
  readonly bytes: number
}

const NONE: readonly Named[] = []
const SPELLED = 2

/** Finds tools by what they are called: `server__get_order` answers to itself, to `get order` and to `getOrder`. */
export function nameTable(names: readonly string[]): NameTable {
  const byKey = new Map<string, Named[]>()
  const put = (text: string, named: Named): void => {
    const key = keyOf(text)
    if (key === '') return
    const there = byKey.get(key)
    if (there === undefined) byKey.set(key, [named])
    else if (!there.some(({ tool }) => tool === named.tool)) there.push(named)
  }
  for (const [tool, name] of names.entries()) {
    put(name, { tool, weight: 1 })
    put(name.slice(startOfLastSegment(name)), { tool, weight: 0.5 })
  }
  return {
    find(name) {
      const there = byKey.get(keyOf(name)) ?? NONE
      // Names that differ only in case or separators are told apart by the one that is spelled as asked for.
      return there.map(named => (names[named.tool] === name ? { ...named, weight: SPELLED } : named))
    },
    bytes: byKey.size * 200
  }
}

function keyOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
}

/** Segments are parted by `__`, `.`, `/` or `:`. */
function startOfLastSegment(name: string): number {
  let start = 0
  for (const { index, 0: border } of name.matchAll(/__|[./:]/g)) start = index + border.length
  return start
}
