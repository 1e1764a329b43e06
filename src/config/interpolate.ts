import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isScalar, type Scalar, visit } from 'yaml'
import type { Problem } from './config-error.ts'
import type { YamlFile } from './document.ts'
import { type Path, pathText } from './path.ts'

/** `$${…}` is text; `${…}` is a variable, a variable with a default, or a file. */
const EXPRESSION = /\$\$\{|\$\{([^{}]*)\}/g
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s
const MAX_FILE_BYTES = 1_048_576

export interface Interpolation {
  readonly problems: readonly Problem[]
  /** Texts that came, at least in part, from elsewhere: they may be secret, and may stand for numbers. */
  readonly filled: ReadonlySet<unknown>
  /** Texts that could not be filled in; nothing else need be said of them. */
  readonly broken: ReadonlySet<unknown>
}

/**
 * Fills in `${NAME}`, `${NAME:-default}` (also when the variable is empty) and `${file:/path}` (one trailing newline
 * cut, relative paths seen from `folder`) in every value of the document. What is filled in is not looked at again.
 */
export function interpolate(
  file: YamlFile,
  env: Readonly<Record<string, string | undefined>>,
  folder: string
): Interpolation {
  const problems: Problem[] = []
  const filled = new Set<unknown>()
  const broken = new Set<unknown>()

  visit(file.document, {
    Scalar(key, node, parents) {
      if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return
      const path = pathOf([...parents, node])
      const line = file.line(path)
      try {
        node.value = fill(node, env, folder)
        filled.add(node)
      } catch (error) {
        broken.add(node)
        problems.push({ path: pathText(path), ...(line && { line }), message: (error as Error).message })
      }
    }
  })
  return { problems, filled, broken }
}

function fill(node: Scalar, env: Readonly<Record<string, string | undefined>>, folder: string): string {
  return String(node.value).replace(EXPRESSION, (whole, inner: string | undefined) => {
    if (inner === undefined) return whole.slice(1)
    if (inner.startsWith('file:')) return fileText(resolve(folder, inner.slice('file:'.length)))
    const [, name, otherwise] = NAME.exec(inner) ?? []
    if (name === undefined) {
      throw new Error(`\${${inner}} is neither \${NAME}, \${NAME:-default} nor \${file:/path}; write $\${ for the text`)
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (otherwise !== undefined) return value || otherwise
    if (value === undefined) throw new Error(`the variable ${name} is not set; set it or write \${${name}:-default}`)
    return value
  })
}

function fileText(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`the file ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`)
  }
  if (text.length > MAX_FILE_BYTES) throw new Error(`the file ${path} is longer than ${MAX_FILE_BYTES} bytes`)
  return text.replace(/\r?\n$/, '')
}

function pathOf(nodes: readonly unknown[]): Path {
  const path: (string | number)[] = []
  for (const [i, node] of nodes.entries()) {
    const parent = nodes[i - 1] as { key?: unknown; items?: unknown[] } | undefined
    if (parent === undefined) continue
    if (parent.items && isScalar((node as { key?: unknown }).key))
      path.push(String((node as { key: Scalar }).key.value))
    else if (Array.isArray(parent.items)) path.push(parent.items.indexOf(node))
  }
  return path
}
