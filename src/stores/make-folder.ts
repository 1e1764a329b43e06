import { existsSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes a folder and those above it that are missing. Throws what the system says when one cannot be made. Not
 * `mkdir` with `recursive`: where a folder is there but takes no other one (`/proc`), that one tries for ever.
 */
export function makeFolder(folder: string, { mode }: { readonly mode?: number } = {}): void {
  const missing: string[] = []
  for (let at = resolve(folder); !existsSync(at); at = dirname(at)) missing.unshift(at)
  for (const each of missing) {
    try {
      mkdirSync(each, { ...(mode !== undefined && { mode }) })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
