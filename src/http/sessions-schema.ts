import { z } from 'zod'

const openaiMessage = z
  .looseObject({ role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']) })
  .meta({ id: 'Message', description: 'A message as OpenAI chat completions spell it.' })

const seen = {
  id: z.string(),
  created_at: z.string(),
  last_used_at: z.string(),
  turns: z.int(),
  revealed: z.array(z.string()).describe('Tools found by search, in order of discovery.'),
  branches: z.array(z.string()).describe('Branches beside main, in the order in which they were opened.')
}

export const session = z
  .object({
    ...seen,
    status: z.enum(['idle', 'awaiting_client']).describe('idle, or what the open turn waits for.'),
    messages: z.array(openaiMessage).optional().describe('With view=recall: what the next turn would recall.')
  })
  .meta({ id: 'Session' })

export const sessions = z.object({ data: z.array(z.object(seen)), next_cursor: z.string().nullable() })

export const transcript = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      turn_id: z.string(),
      turn_status: z
        .string()
        .describe('Only messages of completed turns are recalled; with recall all, of limited ones too.'),
      created_at: z.string(),
      origin: z.literal('client').optional().describe('The client brought it as history.'),
      message: openaiMessage
    })
  ),
  next_cursor: z.string().nullable()
})
