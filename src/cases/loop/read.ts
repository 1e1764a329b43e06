import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Options } from '../case-kind.ts'
import { type Fields, fieldsOf, isFields, listOf, numberOf, stringOf } from '../fields.ts'
import type { LoopCase, LoopSource, LoopTool } from './case.ts'
import { expectationOf } from './expectation.ts'

/** A case that could not be read stays in the list, so that it fails by its name. */
export type ReadCase = LoopCase & { readonly fault?: string }

/** The cases of a folder: every file whose name begins with a number; the others are catalogues of tools. */
export async function readLoopCases(
  folder: string,
  { expect, mode = 'recorded' }: Options
): Promise<readonly ReadCase[]> {
  const names = (await readdir(folder)).filter(name => /^\d+.*\.json$/.test(name)).sort()
  const overlays = await expectations(folder, expect)
  return Promise.all(
    names.map(async name => {
      const id = basename(name, '.json')
      const fixture = fieldsOf(await json(join(folder, name)))
      const overlay = overlays[id]
      const tools = await toolsOf(folder, fixture.tools)
      return loopCase(id, { fixture, ...(isFields(overlay) && { overlay }) }, tools, mode)
    })
  )
}

/** A case from the texts of its files. */
export function loopCase(id: string, source: LoopSource, tools: readonly LoopTool[], mode: LoopCase['mode']): ReadCase {
  const { fixture, overlay } = source
  const given = listOf(fieldsOf(overlay?.expect).turns).map(fieldsOf)
  const turns = listOf(fixture.turns).map((turn, at) => {
    const { modelScript, ...rest } = fieldsOf(turn)
    return { ...rest, modelScript: [...listOf(modelScript), ...listOf(given[at]?.script_extra)] }
  })
  const base = { id, config: fieldsOf(fixture.config), tools, turns, mode, source } as unknown as LoopCase
  const one = { ...base, isOrderOpen: fixture.toolOrder === 'unspecified' }
  try {
    return { ...one, expected: expectationOf(source, mode) }
  } catch (error) {
    return { ...one, expected: { turns: [] }, fault: (error as Error).message }
  }
}

async function toolsOf(folder: string, tools: unknown): Promise<readonly LoopTool[]> {
  if (Array.isArray(tools)) return tools as LoopTool[]
  const { $catalog, take } = fieldsOf(tools)
  if (stringOf($catalog) === undefined) return []
  const all = listOf(await json(join(folder, String($catalog)))) as readonly LoopTool[]
  return all.slice(0, numberOf(take) ?? all.length)
}

/** The named file, which must be there, or the one beside the folder, which may. */
async function expectations(folder: string, file: string | undefined): Promise<Fields> {
  if (file !== undefined) return fieldsOf(await json(file))
  const full = resolve(folder)
  try {
    return fieldsOf(await json(join(dirname(full), `${basename(full)}-expectations.json`)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

async function json(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8'))
}
