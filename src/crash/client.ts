import { setTimeout as sleep } from 'node:timers/promises'
import type { Plan } from './plan.ts'

/** What a client made of its question. */
export interface Asked {
  readonly plan: Plan
  /** Every whole answer that it got, also to a question that was sent again. */
  readonly answers: readonly string[]
  /** Code of an error after which it was not to ask again. */
  readonly refused?: string | undefined
  readonly retries: number
}

const PAUSE_MS = 30
/** Once nothing is killed any more, every question has its answer within this time. */
const LAST_WAIT_MS = 20_000

/** Asks as an SDK does: sends the same request again after whatever may be sent again, and says that it does. */
export async function ask(url: () => string, plan: Plan, overSince: () => number | undefined): Promise<Asked> {
  const answers: string[] = []
  let retries = 0
  let last: string | undefined
  for (let wanted = plan.isSentAgain ? 2 : 1; wanted > 0; wanted--) {
    for (let count = 0; ; count++) {
      if (Date.now() - (overSince() ?? Date.now()) > LAST_WAIT_MS)
        return { plan, answers, refused: `no answer: ${last}`, retries }
      const ended = await once(url(), plan, count)
      if ('answer' in ended) {
        answers.push(ended.answer)
        break
      }
      if ('refused' in ended) return { plan, answers, refused: ended.refused, retries }
      last = ended.why
      retries++
      await sleep(PAUSE_MS)
    }
  }
  return { plan, answers, retries }
}

/** `why`: it may be sent again. */
type Ended = { readonly answer: string } | { readonly refused: string } | { readonly why: string }

async function once(url: string, { question: q, rounds, session, key, stream }: Plan, count: number): Promise<Ended> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(count > 0 && { 'x-stainless-retry-count': String(count) }),
        ...(key !== undefined && { 'idempotency-key': key }),
        ...(session !== undefined && { 'x-session-id': session })
      },
      body: JSON.stringify({ stream, messages: [{ role: 'user', content: JSON.stringify({ q, rounds }) }] })
    })
    const text = await response.text()
    if (response.status === 200)
      return stream ? streamed(text) : { answer: JSON.parse(text).choices[0].message.content }
    const should = response.headers.get('x-should-retry')
    const mayRetry = should === null ? response.status >= 500 || response.status === 409 : should === 'true'
    const { code } = JSON.parse(text).error
    return mayRetry ? { why: code } : { refused: code }
  } catch (error) {
    return { why: String(error) }
  }
}

/** Half a stream is no answer. */
function streamed(text: string): Ended {
  const frames = text.split('\n\n').filter(Boolean)
  if (frames.at(-1) !== 'data: [DONE]') return { why: `a stream that ended with ${frames.at(-1)}` }
  const deltas = frames.slice(0, -1).map(frame => JSON.parse(frame.replace(/^data: /, '')))
  return { answer: deltas.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join('') }
}
