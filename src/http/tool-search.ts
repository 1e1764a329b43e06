/** What the search tool would find, for people and evaluations; nothing is revealed and nothing stored. */
import { setImmediate as nextTick } from 'node:timers/promises'
import type { FastifyPluginCallback } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { TurnEvent } from '../core/events.ts'
import type { IndexKind, ToolFinder, ToolView } from '../core/finder.ts'
import { clampResults, maxResultsOf } from '../core/max-results.ts'
import type { Principal } from '../core/principal.ts'
import type { AttachableTools } from './turn-tools.ts'

export interface ToolSearchRouteOptions {
  readonly finder: ToolFinder
  readonly catalog: AttachableTools
  /** `tool_search.max_results` and `max_results_limit` of the configuration. */
  readonly results: { readonly maxResults?: number; readonly maxResultsLimit?: number }
  /** Told of every search, with round 0. */
  readonly tell: (event: TurnEvent) => void
}

const MAX_QUERIES = 1_000
/** A batch of queries holds the event loop for this long at most, plus one query. */
const BATCH_MS = 5

const body = z
  .object({
    query: z.string().optional().describe('What a model would give the search tool.'),
    queries: z.array(z.string()).max(MAX_QUERIES).optional().describe('Several, in place of `query`.'),
    max_results: z
      .union([z.number(), z.string()])
      .nullish()
      .describe('As for the search tool: clamped, never refused.'),
    index: z.enum(['lexical', 'regex']).optional().describe('Another kind of index than the configured one.'),
    tools: z
      .array(
        z.object({
          name: z.string(),
          description: z.string().optional(),
          parameters: z.record(z.string(), z.unknown()).optional().describe('JSON Schema.'),
          group: z.string().optional()
        })
      )
      .optional()
      .describe('Search these tools instead of those of the key. Needs role admin.')
  })
  .meta({ id: 'ToolSearchRequest' })

type Body = z.output<typeof body>

const found = z
  .object({
    form: z.enum(['keywords', 'names', 'required', 'pattern']).describe('How the text was read.'),
    results: z
      .array(
        z.object({
          name: z.string(),
          score: z.number().describe('Comparable within one answer only.'),
          matched: z.array(z.enum(['name', 'description', 'parameters']))
        })
      )
      .describe('Best first.')
  })
  .meta({ id: 'FoundTools' })

type FoundTools = z.output<typeof found>

const answer = z.union([found, z.object({ results: z.array(found).describe('One for each query, in order.') })])

/** `POST /v1/tools/search` (contract §2.2). Throws `invalid_request` and `role_required`. */
export const toolSearchRoute: FastifyPluginCallback<ToolSearchRouteOptions> = (app, options, done) => {
  const numbers = maxResultsOf(options.results)
  app
    .withTypeProvider<ZodTypeProvider>()
    .post(
      '/v1/tools/search',
      { config: { auth: 'key' }, schema: { summary: 'Find tools by words', body, response: { 200: answer } } },
      async (request, reply) => {
        await options.catalog.refresh?.(request.getDecorator<Principal>('principal'))
        const view = viewFor(request.body, request.getDecorator<Principal>('principal'), options)
        const maxResults = clampResults(request.body.max_results, numbers)
        const search = (query: string): Promise<FoundTools> => searched(view, query, maxResults, options.tell)
        const { query, queries } = request.body
        if (query !== undefined && queries === undefined) return search(query)
        if (query === undefined && queries !== undefined) {
          return { results: await inBatches(queries, search, () => reply.raw.destroyed) }
        }
        throw new GatewayError('invalid_request', 'Give either query or queries.', { param: 'query' })
      }
    )
  done()
}

function viewFor({ tools, index }: Body, principal: Principal, { finder, catalog }: ToolSearchRouteOptions): ToolView {
  const kind: IndexKind = index ?? finder.kind
  if (tools === undefined) return finder.index(catalog.toolsFor(principal), kind)
  if (!principal.roles.has('admin')) {
    throw new GatewayError(
      'role_required',
      'Searching tools of your own needs a key with role admin; leave tools out.',
      {
        param: 'tools'
      }
    )
  }
  // Absent fields stay absent, as an index expects them.
  return finder.build(
    tools.map(tool => JSON.parse(JSON.stringify(tool)) as { name: string }),
    kind
  )
}

async function searched(
  view: ToolView,
  query: string,
  maxResults: number,
  tell: (event: TurnEvent) => void
): Promise<FoundTools> {
  const startedAt = performance.now()
  const { form, results } = await view.search(query, { maxResults })
  const names = results.map(({ name }) => name)
  const durationMs = performance.now() - startedAt
  tell({ type: 'search', round: 0, index: view.kind, form, found: names, durationMs })
  return { form, results: results.map(hit => ({ ...hit, matched: [...hit.matched] })) }
}

/** Lets other requests run in between; stops when nobody waits for the answer any more. */
async function inBatches(
  queries: readonly string[],
  search: (query: string) => Promise<FoundTools>,
  isGone: () => boolean
): Promise<FoundTools[]> {
  const found: FoundTools[] = []
  let begun = performance.now()
  for (const query of queries) {
    found.push(await search(query))
    if (performance.now() - begun < BATCH_MS) continue
    await nextTick()
    if (isGone()) break
    begun = performance.now()
  }
  return found
}
