import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { endsWithUs } from '../cases/ends-with-us.ts'

export interface Child {
  readonly pid: number
  /** Of its first line of output, a JSON object. */
  readonly url: string
  stop(): Promise<void>
}

const canPin = spawnSync('taskset', ['-c', '0', 'true'], { stdio: 'ignore' }).status === 0

/** The command to run a script of ours with this Node, on one core where the system can do that. */
function command(core: number, script: string, parameters: readonly string[]): [string, string[]] {
  const node = [script, ...parameters]
  return canPin ? ['taskset', ['-c', String(core), process.execPath, ...node]] : [process.execPath, node]
}

/** Starts a script that says its `url` in its first line, and waits for that. */
export async function startChild(core: number, script: string, parameters: readonly string[]): Promise<Child> {
  const [program, all] = command(core, script, parameters)
  const child = endsWithUs(spawn(program, all, { stdio: ['ignore', 'pipe', 'inherit'] }))
  const lines = createInterface({ input: child.stdout })
  const first = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve)
    child.once('exit', code => reject(new Error(`${script} ended with ${code} before it listened`)))
  })
  return { pid: child.pid ?? 0, url: urlOf(first), stop: () => stopped(child) }
}

/** Runs a script to its end; its output is one JSON value. */
export async function runChild<T>(core: number, script: string, parameters: readonly string[]): Promise<T> {
  const [program, all] = command(core, script, parameters)
  const child = endsWithUs(spawn(program, all, { stdio: ['ignore', 'pipe', 'inherit'] }))
  let text = ''
  for await (const part of child.stdout.setEncoding('utf8')) text += part
  return JSON.parse(text)
}

function urlOf(line: string): string {
  const { url } = JSON.parse(line)
  if (typeof url !== 'string') throw new Error(`no url in: ${line}`)
  return url
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const over = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGTERM')
  await over
}
