import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Figures } from './figures.ts'

/** The least figures that pass: by file, by kind of query, by figure. */
export type Floors = Readonly<Record<string, Figures>>

const floorsSchema = z.record(z.string(), z.record(z.string(), z.record(z.string(), z.number())))

/** `floors.json` of the folder; `undefined` when there is none. */
export async function readFloors(folder: string): Promise<Floors | undefined> {
  let text: string
  try {
    text = await readFile(join(folder, 'floors.json'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  return floorsSchema.parse(JSON.parse(text))
}
