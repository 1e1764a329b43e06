import type { Answer, AssistantMessage, Message, Structured, Usage, UserMessage } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { randomText } from '../core/ids.ts'
import { type OutputFormat, outputFormat } from '../core/output-format.ts'
import { replay } from '../core/replay.ts'
import { textOf } from '../core/text.ts'
import { type Advisor, type Model, revise, type Turn } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import { toldInWords } from './structured-output-instructions.ts'
import { Listener } from './structured-output-listener.ts'
import { withoutFence } from './structured-output-text.ts'

export interface StructuredOutputOptions {
  /**
   * Makes a format ready to judge answers by: what is wrong with a text, nothing where it is right. Throws
   * `invalid_request` for a schema that cannot be used.
   */
  readonly judge: (format: OutputFormat) => (text: string) => readonly string[]
  /** How the model of that name is told of the format: by `response_format`, or in words. */
  readonly modeOf: (model: string) => 'native' | 'prompt'
}

/** How far the asking has come. */
interface Progress {
  /** What the model is asked next. */
  readonly turn: Turn
  readonly attempt: number
  /** Messages of the attempts so far that stay: calls and their results. */
  readonly added: readonly Message[]
  readonly usage: Usage | undefined
}

/**
 * Holds final answers to the `response_format` of the request (contract §4.8): one that breaks it is shown to the model
 * once more with what is wrong, up to `maxRetries` times. What the client gets is the JSON text alone. Stands inside
 * memory, which thereby never hears of refused answers. Call and stream are the same code: in a stream nothing but
 * reasoning is sent before the answer has been judged. Rejects with `output_invalid` where the policy says so.
 */
export function structuredOutput({ judge, modeOf }: StructuredOutputOptions): Advisor {
  return {
    name: 'structured-output',
    async advise(turn, next) {
      const format = outputFormat(turn.prompt.params)
      if (format === undefined) return next(turn)
      const reasonsOf = judge(format)
      const inWords = modeOf(turn.prompt.model) === 'prompt' ? format : undefined
      const asked = inWords ? toldInWords(turn, inWords) : turn
      let progress: Progress = { turn: asked, attempt: 1, added: [], usage: undefined }
      for (;;) {
        const { answer, listener } = await ask(progress, turn, next)
        const usage = addUsage(progress.usage, answer.usage)
        const come: Progress = { ...progress, usage }
        if (!isJudged(answer)) return given(turn, come, { answer, listener })

        const text = withoutFence(textOf(answer.message.content))
        const errors = reasonsOf(text)
        const structured = { valid: errors.length === 0, attempts: progress.attempt, errors }
        if (structured.valid) return given(turn, come, { answer: saying(answer, text), listener, structured })
        if (progress.attempt > turn.policy.structuredOutput.maxRetries) {
          return exhausted(turn, come, { answer, listener, structured })
        }
        progress = again(turn, asked, come, { answer, errors, inWords })
      }
    }
  }
}

interface Heard {
  readonly answer: Answer
  readonly listener: Listener
  readonly structured?: Structured
}

async function ask({ turn: asked }: Progress, { emit, prompt }: Turn, next: Model): Promise<Heard> {
  const listener = new Listener(emit, prompt.tools)
  return { answer: await next({ ...asked, emit: listener.emit }), listener }
}

/** Never calls, nor what ended otherwise than by the model's own will; and a refusal is an answer of its own kind. */
function isJudged({ message, finish, limit }: Answer): boolean {
  const isEnd = (finish === 'stop' || finish === 'length') && limit === undefined
  const isRefusal = message.refusal !== undefined && textOf(message.content) === ''
  return isEnd && message.calls.length === 0 && !isRefusal
}

function saying(answer: Answer, text: string): Answer {
  const message: AssistantMessage = { ...answer.message, content: text }
  return { ...answer, message, messages: [...answer.messages.slice(0, -1), message] }
}

/** The answer is given: to the listener, and with what all attempts took and added. */
async function given(turn: Turn, { added, usage }: Progress, { answer, listener, structured }: Heard): Promise<Answer> {
  const { message } = answer
  if (!listener.hasHeardAll) {
    const { reasoning: _, ...rest } = message
    const logprobs = answer.choice?.logprobs
    await replay(
      listener.hasHeardReasoning ? rest : message,
      turn.emit && (delta => turn.emit?.(delta.type === 'text' && logprobs ? { ...delta, logprobs } : delta))
    )
  }
  return {
    ...answer,
    messages: [...added, ...answer.messages],
    ...(usage && { usage }),
    ...(structured && { structured })
  }
}

function exhausted(turn: Turn, progress: Progress, heard: Heard & { readonly structured: Structured }) {
  const { attempts, errors } = heard.structured
  if (turn.policy.structuredOutput.onExhausted === 'return') {
    turn.tell({ type: 'output.invalid', attempts })
    return given(turn, progress, heard)
  }
  const what = `The model gave no answer that keeps response_format in ${attempts} attempts: ${errors.join('; ')}.`
  throw new GatewayError('output_invalid', what, { ...(progress.usage && { usage: progress.usage }) })
}

/** The same turn goes on: all that stays, then the refused answer, which no later attempt is shown, and the complaint. */
function again(
  turn: Turn,
  asked: Turn,
  { attempt, added, usage }: Progress,
  { answer, errors, inWords }: { answer: Answer; errors: readonly string[]; inWords: OutputFormat | undefined }
): Progress {
  const kept = [...added, ...answer.messages.slice(0, -1)]
  const messages = [...asked.prompt.messages, ...kept, answer.message, complaint(errors)]
  const spent = {
    rounds: (turn.spent?.rounds ?? 0) + attempt - 1,
    usage: addUsage(turn.spent?.usage, usage)
  }
  const next: Turn = { ...revise(asked, { messages }), spent }
  return { turn: inWords ? toldInWords(next, inWords) : next, attempt: attempt + 1, added: kept, usage }
}

function complaint(errors: readonly string[]): UserMessage {
  const content = `The answer was not accepted: ${errors.join('; ')}. Answer again with JSON only.`
  return { role: 'user', id: `msg_${randomText(16)}`, content }
}
