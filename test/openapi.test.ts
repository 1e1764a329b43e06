import { readFileSync } from 'node:fs'
import { validate } from '@readme/openapi-parser'
import t from 'tap'
import { parse } from 'yaml'
import { apiText } from '../scripts/openapi/api-text.ts'

const text = readFileSync('openapi.yaml', 'utf8')

// Starts processes, which takes a while on a busy machine.
t.setTimeout(300_000)

t.test('openapi.yaml is what the routes are now, and the same each time', async t => {
  t.equal(await apiText(t.testdir()), text, 'run `npm run openapi`')
})

t.test('it is a valid OpenAPI 3.1 description', async t => {
  const result = await validate(parse(text))
  t.ok(result.valid, JSON.stringify('errors' in result ? result.errors : []))
  t.equal(parse(text).openapi, '3.1.0')
})

t.test('every route says what it does, who may, and which errors it has', async t => {
  const { paths, components } = parse(text)
  const operations = Object.entries<Record<string, Operation>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation }))
  )
  for (const { name, operation } of operations) {
    const { summary, tags, responses, security, requestBody } = operation
    t.ok(summary, `${name} has a summary`)
    t.ok(tags?.length, `${name} has a tag`)
    t.ok(responses[400] && responses[404], `${name} declares 400 and 404`)
    if (security?.length !== 0) t.ok(responses[401], `${name} needs a key and declares 401`)
    if (/^(POST|PUT)/.test(name) && requestBody) t.ok(responses[413] && responses[415], `${name} declares 413 and 415`)
  }
  for (const route of ROUTES)
    t.ok(
      operations.find(({ name }) => name === route),
      `${route} is described`
    )
  for (const name of Object.keys(components.schemas)) {
    t.match(text, `#/components/schemas/${name}"`, `something refers to ${name}`)
  }
  t.notMatch(text, 'Default Response')
  t.match(components.schemas, { ChatRequestInput: {}, ChatCompletion: {}, Error: {} })
})

interface Operation {
  readonly summary?: string
  readonly tags?: string[]
  readonly responses: Record<number, unknown>
  readonly security?: unknown[]
  readonly requestBody?: unknown
}

const ROUTES = [
  'POST /v1/chat/completions',
  'GET /v1/models',
  'GET /v1/models/{id}',
  'POST /v1/tools',
  'GET /v1/tools',
  'GET /v1/tools/{name}',
  'PUT /v1/tools/{name}',
  'POST /v1/tools/search',
  'GET /v1/sessions',
  'GET /v1/sessions/{id}',
  'DELETE /v1/sessions/{id}',
  'GET /v1/sessions/{id}/messages',
  'POST /v1/sessions/{id}/evict',
  'GET /v1/turns/{id}',
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /openapi.yaml'
]
