import { z } from 'zod'

const errorSchema = z
  .looseObject({
    error: z.looseObject({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable()
    })
  })
  .meta({ id: 'Error' })

/** Errors that every route of a kind can have, for the API description: `response: { 200: …, ...errorAnswers }`. */
export const errorAnswers = {
  400: errorSchema.describe('The request is wrong; `error.param` names the field.'),
  401: errorSchema.describe('The key is missing or unknown.'),
  403: errorSchema.describe('The key may not do this.'),
  404: errorSchema.describe('There is no such thing, or it is not yours.'),
  413: errorSchema.describe('The body is longer than `server.body_limit_bytes`.'),
  415: errorSchema.describe('The body is not JSON.'),
  500: errorSchema.describe('The gateway failed; its log has the cause.'),
  503: errorSchema.describe('Not now: the gateway is stopping, or its store is away.')
}
