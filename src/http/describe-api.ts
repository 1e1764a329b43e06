/** The description of the API, made of the schemas that the routes check with. */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { stringify } from 'yaml'
import type { AuthLevel } from './auth.ts'
import { errorAnswers } from './error-schema.ts'
import { tidyDescription } from './tidy-description.ts'

const toJsonSchema = createJsonSchemaTransform({})
const toComponents = createJsonSchemaTransformObject({})

/**
 * Collects the routes that are registered after it; costs nothing a request. What it resolves to gives the description
 * as YAML, the same text for the same routes, once the app is ready.
 */
export async function describeApi(app: FastifyInstance, { version }: { version: string }): Promise<() => string> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Loopgate',
        version,
        description: 'An LLM gateway that runs the tool-calling loop on the server.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' }
      },
      servers: [{ url: 'http://127.0.0.1:8080' }],
      security: [{ bearer: [] }, { apiKey: [] }],
      tags: [
        { name: 'chat', description: 'The OpenAI API: one question, one answer.' },
        { name: 'tools', description: 'What the gateway can call.' },
        { name: 'sessions', description: 'What is remembered, and what turns did.' },
        { name: 'operations', description: 'For operators and their machines.' }
      ],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' }
        }
      }
    },
    transform: withErrors,
    transformObject: toComponents
  })
  let made: string | undefined
  return () => {
    made ??= stringify(tidyDescription(app.swagger()), { lineWidth: 0, aliasDuplicateObjects: false })
    return made
  }
}

const OF_BODIES = ['413', '415']
const OF_KEYS = ['401', '403']

type Transform = NonNullable<FastifyDynamicSwaggerOptions['transform']>

/** Declares on every route the errors that any of its kind can have, so that no route has to. */
const withErrors: Transform = document => {
  const { schema, url } = toJsonSchema(document)
  const { route } = document
  const isOpen = (route.config as { auth?: AuthLevel } | undefined)?.auth === 'none'
  const hasBody = ['POST', 'PUT', 'PATCH'].some(method => [route.method].flat().includes(method))
  const own = Object.entries((schema?.response ?? {}) as Record<string, object>)
  const errors = Object.keys(errorAnswers).filter(
    status => (hasBody || !OF_BODIES.includes(status)) && (!isOpen || !OF_KEYS.includes(status))
  )
  return {
    schema: {
      tags: [tagOf(url)],
      ...schema,
      ...(isOpen && { security: [] }),
      response: {
        ...Object.fromEntries(
          errors.map(status => [
            status,
            errorResponse(document, errorAnswers[Number(status) as keyof typeof errorAnswers])
          ])
        ),
        ...Object.fromEntries(own.filter(([status, response]) => !(status in errorAnswers && isPlainError(response))))
      }
    },
    url
  }
}

function tagOf(url: string): string {
  if (url.startsWith('/v1/tools')) return 'tools'
  if (/^\/v1\/(sessions|turns)/.test(url)) return 'sessions'
  return url.startsWith('/v1/') ? 'chat' : 'operations'
}

/** The common error body, which is declared here already. */
function isPlainError(response: object): boolean {
  return '$ref' in response && response.$ref === '#/components/schemas/Error'
}

function errorResponse(document: Parameters<Transform>[0], answer: (typeof errorAnswers)[400]) {
  const description = answer.description ?? ''
  const response = { 400: { description, content: { 'application/json': { schema: errorAnswers[400] } } } }
  const { schema } = toJsonSchema({ ...document, schema: { response } })
  return (schema.response as Record<number, unknown>)[400]
}
