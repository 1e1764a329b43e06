import type { Answer, Message, Structured, Usage } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import { newMessage } from '../core/new-message.ts'
import { type OutputFormat, outputFormat } from '../core/output-format.ts'
import { replay } from '../core/replay.ts'
import { textOf } from '../core/text.ts'
import { type Advisor, type Model, revise, type Turn } from '../core/turn.ts'
import { addUsage } from '../core/usage.ts'
import { withMessage } from '../core/with-message.ts'
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
  /** What the model is asked. */
  readonly turn: Turn
  readonly attempt: number
  /** Messages of earlier attempts that stay: calls and their results. */
  readonly added: readonly Message[]
  /** Of all attempts so far. */
  readonly usage: Usage | undefined
}

/** What an attempt came to, and who heard of it. */
interface Attempt {
  readonly answer: Answer
  readonly listener: Listener
  readonly structured?: Structured
}

/**
 * Holds final answers to the `response_format` of the request (contract §4.8): one that breaks it is shown to the model
 * once more with what is wrong, up to `maxRetries` times. What the client gets is the JSON text alone. Stands inside
 * memory, which thereby never hears of refused answers. Call and stream are the same code: in a stream nothing but
 * reasoning is sent before the answer has been judged. Rejects with `output_invalid` where the policy says so.
 */
export function structuredOutput(options: StructuredOutputOptions): Advisor {
  return {
    name: 'structured-output',
    advise: (turn, next) =>
      turn.prompt.params.response_format === undefined ? next(turn) : inForm(turn, next, options)
  }
}

async function inForm(turn: Turn, next: Model, { judge, modeOf }: StructuredOutputOptions): Promise<Answer> {
  const format = outputFormat(turn.prompt.params)
  if (format === undefined) return next(turn)
  const reasonsOf = judge(format)
  const tell = (asked: Turn): Turn => (modeOf(turn.prompt.model) === 'prompt' ? toldInWords(asked, format) : asked)
  const asked = tell(turn)
  let progress: Progress = { turn: asked, attempt: 1, added: [], usage: undefined }
  for (;;) {
    const { answer, listener } = await ask(progress.turn, next)
    progress = { ...progress, usage: addUsage(progress.usage, answer.usage) }
    if (!isJudged(answer)) return given(turn, progress, { answer, listener })

    const text = withoutFence(textOf(answer.message.content))
    const errors = reasonsOf(text)
    const structured = { valid: errors.length === 0, attempts: progress.attempt, errors }
    if (structured.valid) {
      const said = withMessage(answer, { ...answer.message, content: text })
      return given(turn, progress, { answer: said, listener, structured })
    }
    if (progress.attempt > turn.policy.structuredOutput.maxRetries) {
      return exhausted(turn, progress, { answer, listener, structured })
    }
    const again = askedAgain(asked, progress, answer, errors)
    progress = { ...again, turn: tell(again.turn) }
  }
}

async function ask(turn: Turn, next: Model): Promise<Attempt> {
  const listener = new Listener(turn)
  return { answer: await next(listener.turn), listener }
}

/** Never calls, nor what ended otherwise than by the model's own will; and a refusal is an answer of its own kind. */
function isJudged({ message, finish, limit }: Answer): boolean {
  const isEnd = (finish === 'stop' || finish === 'length') && limit === undefined
  const isRefusal = message.refusal !== undefined && textOf(message.content) === ''
  return isEnd && message.calls.length === 0 && !isRefusal
}

/** The answer goes to whoever listens, and up with what all attempts took and added. */
async function given(turn: Turn, { added, usage }: Progress, { answer, listener, structured }: Attempt) {
  await replay(listener.unheard(answer.message), turn.emit, answer.choice?.logprobs)
  return {
    ...answer,
    messages: [...added, ...answer.messages],
    ...(usage && { usage }),
    ...(structured && { structured })
  }
}

function exhausted(turn: Turn, progress: Progress, attempt: Attempt & { readonly structured: Structured }) {
  const { attempts, errors } = attempt.structured
  if (turn.policy.structuredOutput.onExhausted === 'return') {
    turn.tell({ type: 'output.invalid', attempts })
    return given(turn, progress, attempt)
  }
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  const what = `The model gave no answer that keeps response_format in ${tries}: ${errors.join('; ')}.`
  throw new GatewayError('output_invalid', what, { ...(progress.usage && { usage: progress.usage }) })
}

/** The same turn goes on: all that stays, then the refused answer, which no later attempt is shown, and the complaint. */
function askedAgain(
  asked: Turn,
  { attempt, added, usage }: Progress,
  answer: Answer,
  errors: readonly string[]
): Progress {
  const kept = [...added, ...answer.messages.slice(0, -1)]
  const complaint = `The answer was not accepted: ${errors.join('; ')}. Answer again with JSON only.`
  const messages = [...asked.prompt.messages, ...kept, answer.message, newMessage('user', complaint)]
  const spent = {
    rounds: (asked.spent?.rounds ?? 0) + attempt - 1,
    usage: addUsage(asked.spent?.usage, usage)
  }
  return { turn: { ...revise(asked, { messages }), spent }, attempt: attempt + 1, added: kept, usage }
}
