/** A YAML file that still knows where everything stands. */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar
} from 'yaml'
import type { Problem } from './config-error.ts'
import type { Path } from './path.ts'

/** Aliases may repeat this much of a file; more is a bomb. */
const MAX_ALIASES = 100

export interface YamlFile {
  readonly document: Document
  /** What YAML itself finds wrong; nothing else may be asked when there is any. */
  readonly problems: readonly Problem[]
  /** The node at a path, aliases followed. */
  node(path: Path): Node | undefined
  /** The line of a key (or list item), or of the nearest parent that is in the file. */
  line(path: Path): number | undefined
  /** Plain data; throws on too many aliases. */
  data(): unknown
}

/** Reads YAML 1.2, one document, no double keys. */
export function yamlFile(text: string): YamlFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true })
  const problems = document.errors.map(error => ({
    path: '',
    line: lines.linePos(error.pos[0]).line,
    message: `is no valid YAML here: ${error.message}`
  }))

  function step(node: unknown, key: string | number): unknown {
    const real = isAlias(node) ? node.resolve(document) : node
    return isMap(real) || isSeq(real) ? real.get(key, true) : undefined
  }

  return {
    document,
    problems,
    node(path) {
      const found = path.reduce<unknown>(step, document.contents)
      return (isAlias(found) ? found.resolve(document) : found) as Node | undefined
    },
    line(path) {
      let node: unknown = document.contents
      let offset: number | undefined
      for (const key of path) {
        const real = isAlias(node) ? node.resolve(document) : node
        const at = isMap(real)
          ? keyNode(real.items, key)?.range
          : isSeq(real)
            ? rangeOf(real.items[Number(key)])
            : undefined
        if (!at) break
        offset = at[0]
        node = step(node, key)
      }
      return offset === undefined ? undefined : lines.linePos(offset).line
    },
    data: () => document.toJS({ maxAliasCount: MAX_ALIASES })
  }
}

function keyNode(items: readonly { key: unknown }[], key: string | number): Scalar | undefined {
  return items
    .map(pair => pair.key)
    .find((node): node is Scalar => isScalar(node) && String(node.value) === String(key))
}

function rangeOf(node: unknown): readonly number[] | undefined {
  return (node as Node | undefined)?.range ?? undefined
}
