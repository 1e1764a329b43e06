import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { endsWithUs } from '../../src/cases/ends-with-us.ts'

/** A server as its own process, until the test is over; resolves to the address that it says it listens at. */
export async function startedProgram(
  t: Test,
  [command, file]: readonly [command: string, file: string],
  env: Readonly<Record<string, string>>
): Promise<string> {
  const all = { ...process.env, ...env, PORT: '0', PYTHONDONTWRITEBYTECODE: '1' }
  const child = endsWithUs(spawn(command, [file], { env: all, stdio: ['ignore', 'pipe', 'ignore'] }))
  t.teardown(async () => {
    child.kill()
    await once(child, 'exit')
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = /http:\S+/.exec(line) ?? []
    if (url !== undefined) return url
  }
  throw new Error(`${file} ended without listening`)
}
