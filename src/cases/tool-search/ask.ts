import { z } from 'zod'
import type { CorpusTool } from './corpus.ts'

const PER_REQUEST = 1_000
const MAX_RESULTS = 10
const TIMEOUT_MS = 120_000

const answerSchema = z.object({ results: z.array(z.object({ results: z.array(z.object({ name: z.string() })) })) })

/** Searches the tools for every text over `POST /v1/tools/search` and resolves to the names found, best first. */
export async function ask(
  url: string,
  tools: readonly CorpusTool[],
  texts: readonly string[]
): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = []
  for (let from = 0; from < texts.length; from += PER_REQUEST) {
    const queries = texts.slice(from, from + PER_REQUEST)
    const response = await fetch(`${url}/v1/tools/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tools, queries, max_results: MAX_RESULTS }),
      signal: AbortSignal.timeout(TIMEOUT_MS)
    })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`the search answered ${response.status}: ${text.slice(0, 300)}`)
    const { results } = answerSchema.parse(JSON.parse(text))
    if (results.length !== queries.length) throw new Error(`${queries.length} queries got ${results.length} answers`)
    found.push(...results.map(each => each.results.map(({ name }) => name)))
  }
  return found
}
