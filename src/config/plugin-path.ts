import { realpathSync } from 'node:fs'
import { extname, resolve, sep } from 'node:path'

const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']

export type PluginPath = { readonly ok: true; readonly path: string } | { readonly ok: false; readonly message: string }

/**
 * Where the module of a plugin really lies: under the folder of the configuration file, also once all links are
 * followed (contract §18, 11). Code from anywhere else is not run.
 */
export function pluginPath(folder: string, path: string): PluginPath {
  if (!EXTENSIONS.includes(extname(path))) return { ok: false, message: `must end with ${EXTENSIONS.join(', ')}` }
  try {
    const root = realpathSync(folder)
    if (!resolve(root, path).startsWith(root + sep)) return { ok: false, message: OUTSIDE }
    const real = realpathSync(resolve(root, path))
    return real.startsWith(root + sep) ? { ok: true, path: real } : { ok: false, message: OUTSIDE }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { ok: false, message: code === 'ENOENT' ? 'there is no such file' : `cannot be read: ${code}` }
  }
}

const OUTSIDE = 'must lie under the folder of the configuration file, with no link out of it'
