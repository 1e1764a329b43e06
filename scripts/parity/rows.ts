export interface ParityRow {
  /** `2.1.7`: section 2.1, row 7. */
  readonly number: string
  readonly scenario: string
  /** The tests that hold the row; none when the row says `none`. */
  readonly tests: readonly NamedTest[]
  /** What the tests assert, in a clause; where there are none, why. */
  readonly says: string
}

export interface NamedTest {
  readonly file: string
  readonly title: string
}

export interface ParitySection {
  /** `2.1` */
  readonly number: string
  /** How many rows its heading says it has. */
  readonly count: number
  readonly rows: readonly ParityRow[]
}

const HEADING = /^## (\d+\.\d+) .*: (\d+) rows$/
const ROW = /^\| (\d+\.\d+\.\d+) \| (.+) \| (.+) \|(.*)\|$/
const TEST = /^`([^`]+)`: (.+)$/

/**
 * Reads `docs/parity.md`: under each heading `## 2.1 Title: 23 rows` a table of rows
 * `| number | scenario | tests | what they assert, or why there are none |`. Tests are `` `file`: title ``, parted by
 * `<br>`; a row without has `none`. Lines of a table that cannot be read are handed back as they are.
 */
export function parityRows(text: string): { sections: readonly ParitySection[]; unread: readonly string[] } {
  const sections: (ParitySection & { rows: ParityRow[] })[] = []
  const unread: string[] = []
  for (const line of text.split('\n')) {
    const [, number, count] = HEADING.exec(line) ?? []
    if (number !== undefined) sections.push({ number, count: Number(count), rows: [] })
    else if (line.startsWith('##')) unread.push(line)
    else if (/^\| *\d/.test(line)) {
      const row = rowOf(line)
      const section = sections.at(-1)
      if (row && section) section.rows.push(row)
      else unread.push(line)
    }
  }
  return { sections, unread }
}

function rowOf(line: string): ParityRow | undefined {
  const [, number, scenario, cell, says] = ROW.exec(line) ?? []
  if (number === undefined || scenario === undefined || cell === undefined || says === undefined) return undefined
  const tests: NamedTest[] = []
  for (const part of cell === 'none' ? [] : cell.split('<br>')) {
    const [, file, title] = TEST.exec(part) ?? []
    if (file === undefined || title === undefined) return undefined
    tests.push({ file, title: title.replaceAll('\\|', '|') })
  }
  return { number, scenario, tests, says: says.trim() }
}
