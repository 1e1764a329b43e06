/** Asks a provider whose upstream answers as a step of the script says. */
import type { Answer, Delta, Fields } from '../../src/core/chat.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { openaiProvider } from '../../src/providers/openai/provider.ts'
import { aTurn, listener, toolbox } from '../helper/turn.ts'
import { chunk, type Step, scriptedServer } from './scripted-server.ts'

const TIMEOUTS = { connectMs: 30_000, firstByteMs: 30_000, idleMs: 30_000 }

export interface Outcome {
  answer: Answer | undefined
  error: GatewayError | undefined
  heard: Delta[]
  text: string
  told: ReturnType<typeof aTurn>['told']
}

/** What came of it, as an answer or as an error of ours. */
export async function ask(
  step: Step,
  options: { stream?: boolean; transport?: 'http' | 'sdk'; params?: Fields } = {}
): Promise<Outcome> {
  const { stream = true, transport = 'http', params = {} } = options
  await using server = await scriptedServer(step)
  const provider = openaiProvider({ name: 'up', baseUrl: server.url, timeouts: TIMEOUTS, transport })
  const { emit, heard, text } = listener()
  const prompt = { ...aTurn().prompt, tools: toolbox({ f: undefined }), params }
  const turn = aTurn({ ...(stream && { emit }), prompt })
  const answer = await provider.chat(turn).catch((error: unknown) => error)
  await provider.close()
  if (answer instanceof Error && !(answer instanceof GatewayError)) throw answer
  const failed = answer instanceof GatewayError
  return {
    answer: failed ? undefined : (answer as Answer),
    error: failed ? answer : undefined,
    heard,
    text: text(),
    told: turn.told
  }
}

/** A stream of these writes. */
export function streamed(...chunks: readonly string[]): Step {
  return { chunks }
}

/** One body. */
export function body(value: unknown, type = 'application/json'): Step {
  return { headers: { 'content-type': type }, chunks: [typeof value === 'string' ? value : JSON.stringify(value)] }
}

export const head = chunk({ role: 'assistant', content: '' })
export const stop = chunk({}, 'stop')
export const calls = (...entries: readonly unknown[]): string => chunk({ tool_calls: entries })
export const fn = (name?: string, args?: unknown): unknown => ({
  ...(name !== undefined && { name }),
  ...(args !== undefined && { arguments: args })
})
