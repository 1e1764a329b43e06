import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Returns once a file, or the names in a folder, are on disk. Throws what the system says. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
