import { z } from 'zod'
import { loopgateSchema } from './loopgate-schema.ts'

const text = z.string()
const part = z.looseObject({ type: text })
const fn = z.looseObject({ name: text, arguments: z.unknown().optional() })

const message = z.looseObject({
  role: z.enum(['developer', 'system', 'user', 'assistant', 'tool', 'function']),
  content: z.union([text, z.array(part)]).nullish(),
  name: text.nullish(),
  tool_calls: z.array(z.looseObject({ id: text.nullish(), type: text.nullish(), function: fn.nullish() })).nullish(),
  tool_call_id: text.nullish(),
  function_call: fn.nullish()
})

const declared = z.looseObject({
  name: text.min(1).max(256),
  description: text.nullish(),
  parameters: z.record(text, z.unknown()).nullish()
})

/**
 * The request body of `POST /v1/chat/completions`: only what the gateway reads is checked; every other field of the
 * OpenAI API, and any a provider of yours knows, passes unread.
 */
export const chatRequestSchema = z
  .looseObject({
    model: text
      .max(512)
      .nullish()
      .describe('An alias, provider/model or a name of a provider; default: default_model.'),
    messages: z.array(message),
    tools: z
      .array(z.looseObject({ type: text, function: declared.nullish() }))
      .nullish()
      .describe("The client's own tools."),
    functions: z.array(declared).nullish().describe('Deprecated form of tools.'),
    function_call: z.unknown().optional(),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    n: z.int().min(1).max(128).nullish(),
    session_id: z.unknown().optional().describe('The session, 1 to 128 of A-Z a-z 0-9 . _ : -.'),
    loopgate: loopgateSchema.nullish()
  })
  .meta({ id: 'ChatRequest' })

const usage = z.looseObject({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })

/** The JSON answer, for the API description; the route writes its bytes itself. */
export const chatAnswerSchema = z
  .looseObject({
    id: text,
    object: z.literal('chat.completion'),
    created: z.int(),
    model: text,
    choices: z.array(
      z.looseObject({
        index: z.int(),
        message: z.looseObject({ role: z.literal('assistant'), content: z.unknown() }),
        logprobs: z.unknown(),
        finish_reason: z.enum(['stop', 'length', 'tool_calls', 'content_filter'])
      })
    ),
    usage: usage.optional(),
    loopgate: z.looseObject({}).optional()
  })
  .meta({ id: 'ChatCompletion' })

/** One event of the streamed answer. */
export const chatEventSchema = z
  .looseObject({ data: text.describe('A chat.completion.chunk as JSON, or [DONE].') })
  .meta({ id: 'ChatCompletionEvent' })
