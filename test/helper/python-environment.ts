import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** The version of PyPI's `openai` that the client tests were written with. */
const PACKAGES = ['openai==3.57.0']

/** A Python with the official SDK in `.cache/venv`, made at the first call and kept; resolves to its program. */
export function pythonEnvironment(): string {
  const folder = resolve('.cache/venv')
  const done = `${folder}/loopgate-${PACKAGES.join('+')}`
  const python = `${folder}/bin/python`
  if (existsSync(done)) return python
  rmSync(folder, { recursive: true, force: true })
  mkdirSync('.cache', { recursive: true })
  execFileSync('python3', ['-m', 'venv', folder])
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES], {
    stdio: ['ignore', 'inherit', 'inherit']
  })
  writeFileSync(done, '')
  return python
}
