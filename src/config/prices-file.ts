import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { yamlFile } from './document.ts'
import { explain } from './explain.ts'
import { price } from './fields.ts'
import { pathText } from './path.ts'
import type { Config } from './schema.ts'

export type PricesFile =
  | { readonly ok: true; readonly prices: Config['prices']['overrides'] }
  | { readonly ok: false; readonly messages: readonly string[] }

const OVERRIDES = ['prices', 'overrides']
const table = z.record(z.string().min(1).max(400), price())

/** The prices of a file, whose path is seen from `folder`; YAML, of which JSON is a part. */
export function pricesFile(folder: string, path: string): PricesFile {
  let text: string
  try {
    text = readFileSync(resolve(folder, path), 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return wrong([`cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}`])
  }
  const yaml = yamlFile(text)
  if (yaml.problems.length > 0) return wrong(yaml.problems.map(({ line, message }) => `${path}:${line} ${message}`))
  let data: unknown
  try {
    data = yaml.data() ?? {}
  } catch (error) {
    return wrong([`${path} repeats too much by aliases: ${(error as Error).message}`])
  }
  const read = table.safeParse(data)
  if (read.success) return { ok: true, prices: read.data }
  const problems = read.error.issues.flatMap(issue =>
    // What is allowed is told as for the same place under overrides.
    explain({ ...issue, path: [...OVERRIDES, ...issue.path] }, valueAt(data, issue.path))
  )
  return wrong(
    problems.map(({ path: whole, message }) => {
      const at = whole.slice(OVERRIDES.length)
      return `${path}:${yaml.line(at) ?? 1} ${pathText(at)}: ${message}`
    })
  )
}

function wrong(messages: readonly string[]): PricesFile {
  return { ok: false, messages }
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], data)
}
