import { z } from 'zod'

const names = z.array(z.string().min(1).max(256)).max(1000)
const limit = z.int().min(-1)
/** Spelled in the contract, refused with a sentence until they are there. */
const later = z.unknown().optional()

/** The `loopgate` object of a request body (contract §3.2), for every dialect. Unknown fields are named and refused. */
export const loopgateSchema = z
  .strictObject({
    tools: z
      .union([names, z.strictObject({ allow: names.optional(), deny: names.optional() })])
      .optional()
      .describe('Gateway tools of this request: names or globs; [] = none.'),
    tool_search: z
      .union([
        z.enum(['auto', 'on', 'off', 'preselect']),
        z.strictObject({
          mode: z.enum(['auto', 'on', 'off', 'preselect']).optional(),
          max_results: z.int().min(1).max(100).optional()
        })
      ])
      .optional(),
    memory: z
      .union([
        z.enum(['on', 'off']),
        z.strictObject({
          recall: z.enum(['answers', 'all']).optional(),
          branch: z
            .string()
            .regex(/^[A-Za-z0-9._:-]{1,128}$/, 'must be 1 to 128 of A-Z a-z 0-9 . _ : -')
            .optional()
            .describe('A branch of the session; a new name opens one with all that the session has then.')
        })
      ])
      .optional()
      .describe('off: neither recalled nor stored.'),
    limits: z
      .strictObject({
        max_calls_per_tool: limit.optional(),
        per_tool: z.record(z.string(), limit).optional(),
        exempt_tools: names.optional(),
        max_calls: limit.optional(),
        max_identical_calls: limit.optional(),
        max_rounds: limit.optional(),
        max_tokens: limit.optional(),
        max_cost_usd: z
          .union([z.literal(-1), z.number().min(0.000001).max(1_000_000_000)])
          .optional()
          .describe('USD, to the micro-dollar.'),
        max_turn_ms: limit.optional(),
        limit_check: z.enum(['call', 'batch']).optional(),
        on_limit: z.enum(['stop', 'tell_model', 'force_answer']).optional()
      })
      .optional()
      .describe('Only tighter than configured.'),
    context: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Handed to tools, as far as their context.allow names the keys.'),
    include: z
      .array(z.enum(['summary', 'rounds', 'events']))
      .optional()
      .describe('What the answer tells of its making.'),
    structured_output: z
      .strictObject({
        max_retries: z.int().min(0).max(20).optional(),
        on_exhausted: z.enum(['return', 'fail']).optional()
      })
      .optional()
      .describe('What comes of an answer that breaks response_format; max_retries: only fewer than configured.'),
    tool_execution: z
      .enum(['auto', 'manual'])
      .optional()
      .describe('manual: calls of gateway tools come back, and nothing runs by itself.'),
    preamble: z.enum(['show', 'hide']).optional(),
    timeout_ms: z.int().min(1).max(2_147_483_647).optional().describe('Tightens limits.max_turn_ms.'),
    tags: z.array(z.string().min(1).max(64)).max(10).optional(),
    script: z.array(z.unknown()).max(1000).optional().describe('Model sim-script only, where it is allowed.'),
    approvals: later,
    cache: later,
    resumable: z
      .boolean()
      .optional()
      .describe('Streams: frames are kept, and a client that lost its connection can read on.')
  })
  .meta({ id: 'LoopgateOptions' })

export type LoopgateBody = z.output<typeof loopgateSchema>
