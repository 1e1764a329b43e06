import { spawnSync } from 'node:child_process'

/** Programs that some tests need and a machine with Node alone may lack, with the Debian packages that bring them. */
export const PROGRAMS = {
  curl: { check: ['curl', '--version'], packages: ['curl'] },
  // Debian parts `venv` from Python: without `ensurepip` an environment cannot be made.
  python3: { check: ['python3', '-c', 'import venv, ensurepip'], packages: ['python3', 'python3-venv'] }
} as const satisfies Record<string, { check: readonly [string, ...string[]]; packages: readonly string[] }>

export type Program = keyof typeof PROGRAMS

/** Is it there, and complete? */
export function isThere(program: Program): boolean {
  const [command, ...parameters] = PROGRAMS[program].check
  return spawnSync(command, parameters, { stdio: 'ignore' }).status === 0
}
