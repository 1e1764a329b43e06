import type { Fields } from '../fields.ts'
import { fieldsOf, isFields, listOf, stringOf } from '../fields.ts'
import { answerOf } from '../wire/answer.ts'
import type { ReplySaw } from './observation.ts'

export interface Reply extends ReplySaw {
  readonly turnId?: string
}

/** No answer of a case takes this long. */
const LIMIT_MS = 20_000

/** Posts a chat completion and reads the answer; leaves after so many data frames when told to. */
export async function chat(
  url: string,
  body: Fields,
  { session, leaveAfter }: { readonly session?: string | undefined; readonly leaveAfter?: number | undefined }
): Promise<Reply> {
  const leaving = new AbortController()
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(session !== undefined && { 'x-session-id': session }) },
    body: JSON.stringify(body),
    signal: AbortSignal.any([leaving.signal, AbortSignal.timeout(LIMIT_MS)])
  })
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const part of response.body ?? []) {
      text += decoder.decode(part, { stream: true })
      if (leaveAfter !== undefined && text.split('\n\ndata: ').length >= leaveAfter) leaving.abort()
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error
  }
  return replyOf(response, text)
}

function replyOf(response: Response, text: string): Reply {
  const headers = Object.fromEntries(response.headers)
  const client = { status: response.status, headers, text, isUtf8: true, endMs: 0, hasLeft: false, pieces: [] }
  const answer = answerOf(client, '/v1/chat/completions')
  const { documents, isStream, finish, usage, error } = answer
  const loopgate = documents.map(document => document.loopgate).findLast(isFields)
  const turnId = headers['x-loopgate-turn-id']
  const shouldRetry = headers['x-should-retry']
  return {
    status: response.status,
    isStream,
    content: answer.text,
    pieces: isStream ? documents.flatMap(piecesOf) : [],
    ...(finish !== undefined && { finish }),
    calls: answer.calls,
    ...(usage && { usage }),
    ...(loopgate && { loopgate }),
    ...(error && { error }),
    ...(shouldRetry !== undefined && { shouldRetry }),
    ...(turnId !== undefined && { turnId })
  }
}

function piecesOf({ choices }: Fields): readonly string[] {
  return listOf(choices).flatMap(choice => stringOf(fieldsOf(fieldsOf(choice).delta).content) || [])
}
