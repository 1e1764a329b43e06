/** Registering tools and reading them back. What a registration may say is checked by the catalog. */
import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Catalog } from '../tools/catalog.ts'
import { errorAnswers } from './error-schema.ts'

export interface ToolsOptions {
  readonly catalog: Pick<Catalog, 'list' | 'get' | 'register' | 'replace'> & {
    /** Awaited before tools are read, where some come from elsewhere. Never rejects. */
    refresh?(principal: Principal): Promise<void>
  }
  /** `toolBody` of tools/definition.ts: the form of a registration, for the API description. */
  readonly registration: z.ZodType
}

const secretView = { secret_ref: z.string(), last4: z.string(), created_at: z.string() }

const tool = z
  .looseObject({
    name: z.string(),
    version: z.int(),
    kind: z.enum(['webhook', 'builtin']).describe('builtin: run by the gateway itself, as tools of plugins are.'),
    state: z.enum(['active', 'pending_verification', 'retired', 'disabled']),
    source: z.enum(['file', 'api', 'plugin']),
    created_at: z.string(),
    description: z.string().optional(),
    input_schema: z.record(z.string(), z.unknown()),
    signing: z.object(secretView).optional().describe('For those who may change the tool, as all settings.')
  })
  .meta({ id: 'Tool' })

const written = {
  name: z.string(),
  version: z.int(),
  state: z.enum(['active', 'pending_verification', 'retired', 'disabled']),
  flags: z.array(z.enum(['imperative_text'])).describe('What people should look at before they trust the tool.')
}
const registered = z
  .object({ ...written, signing: z.object({ secret: z.string().describe('Shown this once.') }) })
  .meta({ id: 'RegisteredTool' })
const replaced = z.object(written).meta({ id: 'ReplacedTool' })

const rejections = {
  409: errorAnswers[400].describe('The name is taken, or the tool is declared in the file.'),
  412: errorAnswers[400].describe('The tool is at another version than If-Match says.'),
  422: errorAnswers[400].describe('The name, address, headers or schema are not allowed; `reason` says why.')
}

/** `POST /v1/tools`, `GET /v1/tools`, `GET` and `PUT /v1/tools/{name}` (contract §2.2, §6.1). */
export async function tools(app: FastifyInstance, { catalog, registration }: ToolsOptions): Promise<void> {
  const typed = app.withTypeProvider<ZodTypeProvider>()
  const principalOf = (request: { getDecorator<T>(name: string): T }) => request.getDecorator<Principal>('principal')
  const params = z.object({ name: z.string() })
  // The catalog looks at the body itself, with sentences that name the field; the schema is for the description.
  const writes = { config: { auth: 'role:tool-admin' }, attachValidation: true } as const

  typed.post(
    '/v1/tools',
    {
      ...writes,
      schema: {
        ...{ tags: ['tools'], summary: 'Register a webhook tool', body: registration },
        response: { 201: registered, ...errorAnswers, 409: rejections[409], 422: rejections[422] }
      }
    },
    async (request, reply) => {
      const { name, version, state, signing, flags } = await catalog.register(principalOf(request), request.body)
      if (signing === undefined) throw new TypeError('A registration gives a signing secret.')
      return reply.code(201).send({ name, version, state, signing, flags: flags as 'imperative_text'[] })
    }
  )

  typed.get(
    '/v1/tools',
    {
      config: { auth: 'key' },
      schema: {
        ...{ tags: ['tools'], summary: 'Tools the key may use' },
        querystring: z.object({
          limit: z.coerce.number().int().min(1).max(200).default(50),
          cursor: z.string().max(256).optional()
        }),
        response: { 200: z.object({ data: z.array(tool), next_cursor: z.string().nullable() }), ...errorAnswers }
      }
    },
    async request => {
      await catalog.refresh?.(principalOf(request))
      const { data, nextCursor } = catalog.list(principalOf(request), request.query)
      return { data: data.map(view => ({ ...view })), next_cursor: nextCursor ?? null }
    }
  )

  typed.get(
    '/v1/tools/:name',
    {
      config: { auth: 'key' },
      schema: { tags: ['tools'], summary: 'One tool', params, response: { 200: tool, ...errorAnswers } }
    },
    async request => {
      await catalog.refresh?.(principalOf(request))
      return { ...catalog.get(principalOf(request), request.params.name) }
    }
  )

  typed.put(
    '/v1/tools/:name',
    {
      ...writes,
      schema: {
        ...{ tags: ['tools'], summary: 'Make a new version of a tool', params, body: registration },
        headers: z.object({ 'if-match': z.string().optional().describe('The version that is replaced.') }),
        response: { 200: replaced, ...errorAnswers, ...rejections }
      }
    },
    async request => {
      const expected = versionIn(request.headers['if-match'])
      const { name, version, state, flags } = await catalog.replace(
        principalOf(request),
        request.params.name,
        request.body,
        expected
      )
      return { name, version, state, flags: flags as 'imperative_text'[] }
    }
  )
}

/** `3`, `"3"` or `W/"3"`; `*` and nothing mean any version. */
function versionIn(ifMatch: string | undefined): number | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const version = /^(?:W\/)?"?(\d{1,9})"?$/.exec(ifMatch.trim())?.[1]
  if (version !== undefined) return Number(version)
  throw new GatewayError('invalid_request', 'The header if-match must be the version of the tool, such as 3.', {
    param: 'if-match'
  })
}
