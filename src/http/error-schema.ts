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

/** Answers every route can give, for the API description: `response: { 200: …, ...errorAnswers }`. */
export const errorAnswers = {
  400: errorSchema.describe('The request cannot be read or asks for what cannot be.'),
  401: errorSchema.describe('No key, or not one of ours.'),
  403: errorSchema.describe('The key may not.'),
  404: errorSchema.describe('Not there, or not for this key.'),
  413: errorSchema.describe('The body is too large.'),
  415: errorSchema.describe('The body is no JSON.'),
  500: errorSchema.describe('The gateway failed.'),
  503: errorSchema.describe('Not now; try again later.')
}
