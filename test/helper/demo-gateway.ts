import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { endsWithUs } from '../../src/cases/ends-with-us.ts'

export interface DemoGateway {
  readonly url: string
  stop(): Promise<void>
}

/** `npm start` on a free port, in an empty folder: no configuration, no key, demo tools. */
export async function demoGateway(folder: string): Promise<DemoGateway> {
  const foreign = /^LOOPGATE_|_API_KEY$|_BASE_URL$|^OLLAMA_HOST$/
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))
  const child = spawn(process.execPath, [resolve('src/cli.ts'), 'serve', '--port', '0'], {
    cwd: folder,
    env,
    // Its own pipes: a gateway left behind by a test that was cut must not hold up the runner.
    stdio: ['ignore', 'pipe', 'pipe']
  })
  child.stderr.resume()
  endsWithUs(child)
  const lines = createInterface({ input: child.stdout })
  const first = await Promise.race([once(lines, 'line'), once(child, 'exit')])
  const { event, url } = JSON.parse(String(first[0]))
  if (event !== 'server.listening') throw new Error(`the gateway did not start: ${first[0]}`)
  return { url, stop: () => stopped(child) }
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}
