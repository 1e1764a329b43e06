import { anEdge, type EdgeOptions, post } from './edge.ts'
import { scripted } from './turn.ts'

/** One request to an edge of its own; what the model saw, and what the client got. */
export async function asked(
  body: object,
  { headers = {}, ...options }: EdgeOptions & { headers?: Record<string, string> } = {}
) {
  const model = scripted([{ text: 'ok' }])
  const edge = await anEdge(model, options)
  const response = await post(edge, body, headers)
  const answer = (await response.json()) as { error?: { code: string; param: string; message: string } }
  await edge.close()
  return { status: response.status, headers: response.headers, ...answer, turn: model.seen[0], edge }
}
