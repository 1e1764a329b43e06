/** How a turn runs: chain, loop, limits, session, memory, search, stream. */
import { z } from 'zod'
import { limit, ms, nameText, orNull } from '../fields.ts'

/** The advisors there are, by the list they may stand in. */
export const ADVISORS = {
  turn: ['audit', 'memory', 'structured-output'],
  call: ['audit', 'tool-search', 'meter', 'retry']
} as const

const compaction = z.strictObject({
  model: z.string().min(1).describe('The model that writes the summary, by any name that a request could use.'),
  trigger: z
    .strictObject({
      turns: z.int().min(1).optional().describe('Due when so many past turns are not summarised.'),
      tokens: z.int().min(1).optional().describe('Due when these are so many tokens, estimated.')
    })
    .refine(({ turns, tokens }) => turns !== undefined || tokens !== undefined, 'must have turns, tokens or both')
    .describe('When to summarise; of two, whichever comes first.'),
  keep_turns: z.int().min(0).default(4).describe('The newest turns, which are recalled as they are.')
})

export const turnSections = {
  chain: z
    .strictObject({
      turn: z
        .array(z.string())
        .default(['audit', 'memory', 'structured-output'])
        .describe('Advisors around the loop, run once a turn, outermost first: audit, memory, structured-output.'),
      call: z
        .array(z.string())
        .default(['tool-search', 'meter', 'retry'])
        .describe('Advisors inside the loop, run every round, outermost first: audit, tool-search, meter, retry.'),
      loop: z
        .string()
        .default('tool-loop')
        .describe('The loop between the two lists: tool-loop, or the name of a plugin.')
    })
    .prefault({})
    .describe('The order of advisors. The loop stands between the two lists and in neither; meter must be there.'),
  loop: z
    .strictObject({
      tool_execution: z
        .enum(['auto', 'manual'])
        .default('auto')
        .describe(
          'auto: calls of gateway tools run here. manual: they go to the client, which may have them run by POST ' +
            '/v1/tool-calls, send results of its own, or leave it.'
        ),
      max_parallel: z.int().min(1).max(128).default(16).describe('Tool calls of one turn that run at once.'),
      preamble: z
        .enum(['show', 'hide'])
        .default('show')
        .describe('Text of rounds before the last, in a stream: sent as it comes, or left out.'),
      fail_turn_on: z
        .array(z.string().min(1).max(64))
        .default([])
        .describe('Codes of failed calls that fail the turn (502 tool_failed), or globs such as tool_*; [] = none.'),
      eligible_finish: orNull(z.array(z.string().min(1).max(64))).describe(
        'Finish reasons, as providers write them in any case, under which calls are run; null: any but those for an ' +
          'answer that was cut or filtered, under which calls never run.'
      )
    })
    .prefault({})
    .describe('The tool-calling loop.'),
  limits: z
    .strictObject({
      max_calls_per_tool: limit().default(40).describe('Calls of one tool in a turn; -1 = no limit.'),
      per_tool: z
        .record(z.string(), limit())
        .default({})
        .describe('The same for single tools: {stock_level: 2}; -1 = no limit.'),
      exempt_tools: z
        .array(z.string().min(1))
        .default([])
        .describe('Tools without per-tool and identical-call limit; they still count in max_calls.'),
      max_calls: limit().default(150).describe('Tool calls in a turn; -1 = no limit.'),
      max_identical_calls: limit()
        .default(3)
        .describe('Calls of one tool with the same arguments in a turn; -1 = no limit.'),
      max_rounds: limit().default(200).describe('Model calls in a turn; -1 = no limit.'),
      max_tokens: orNull(z.int().min(-1)).describe('Prompt and completion tokens of a turn over all rounds.'),
      max_cost_usd: orNull(
        z
          .number()
          .min(-1)
          .max(1_000_000_000)
          .refine(usd => usd === -1 || usd >= 0.000001, 'must be -1, or at least 0.000001')
      ).describe('What the model calls of a turn may cost in USD, to the micro-dollar, by the section prices.'),
      max_turn_ms: z.int().min(-1).max(2_147_483_647).default(600_000).describe('Time of a turn in ms; -1 = no limit.'),
      limit_check: z
        .enum(['call', 'batch'])
        .default('call')
        .describe('call: calls of a batch before the breach run. batch: if one would breach, none runs.'),
      on_limit: z
        .enum(['stop', 'tell_model', 'force_answer'])
        .default('stop')
        .describe(
          'stop: the turn ends with a text that names the limit. tell_model: the refused call gets the text as its ' +
            'result and the loop goes on. force_answer: likewise, but the model is asked once more only, without calls. ' +
            'Limits of tokens, cost and time always stop.'
        )
    })
    .prefault({})
    .describe('Limits of one turn. Earlier turns never count; refused calls do.'),
  session: z
    .strictObject({
      required: z
        .literal(['auto', true, false])
        .default('auto')
        .describe(
          'auto: 400 without a session id where memory or tool search was switched on. true: always. false: never.'
        ),
      scope: z
        .enum(['key', 'tenant'])
        .default('key')
        .describe('key: a session id belongs to the key that used it. tenant: all keys of a tenant share theirs.'),
      extra_headers: z
        .array(z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header'))
        .default([])
        .describe('Headers that may carry the session id too, asked last, in order.'),
      concurrency: z
        .enum(['queue', 'reject'])
        .default('queue')
        .describe('What a request does whose session has a turn that runs. queue: it waits. reject: 409 at once.'),
      queue_ms: ms(0, 3_600_000)
        .default(30_000)
        .describe('How long a request waits for its session, in ms; then 409 session_busy. At most 8 wait.')
    })
    .prefault({})
    .describe('Which conversation a request belongs to.'),
  memory: z
    .strictObject({
      mode: z.enum(['auto', 'on', 'off']).default('auto').describe('auto: on when the request names a session.'),
      recall: z
        .enum(['answers', 'all'])
        .default('answers')
        .describe('answers: question and final answer of each past turn. all: calls and results too.'),
      window: z
        .strictObject({
          max_turns: z
            .int()
            .min(1)
            .nullable()
            .default(20)
            .transform(value => value ?? undefined)
            .describe('Past turns recalled at most; null = no bound.'),
          max_messages: orNull(z.int().min(1)).describe('Messages recalled at most; null = no bound.'),
          max_tokens: orNull(z.int().min(1)).describe('Tokens recalled at most, estimated; null = no bound.')
        })
        .prefault({})
        .describe('Past turns are taken whole, newest first, while they fit every bound.'),
      ttl_ms: z
        .int()
        .min(1)
        .default(2_592_000_000)
        .describe('Sessions not used for this long are deleted, in ms (30 days).'),
      compaction: orNull(compaction).describe(
        'Past turns are summarised by a model and recalled as its text; null = never. All of them stay stored.'
      )
    })
    .prefault({})
    .describe('What a turn remembers of earlier turns of its session. Everything is stored; this acts at recall.'),
  structured_output: z
    .strictObject({
      mode: z
        .enum(['auto', 'native', 'prompt'])
        .default('auto')
        .describe(
          'How a model is told of response_format. native: as the request says it. prompt: in words, after the last ' +
            'user message. auto: as its provider says.'
        ),
      max_retries: z
        .int()
        .min(0)
        .max(20)
        .default(3)
        .describe('How often a model is asked again when its answer breaks response_format.'),
      on_exhausted: z
        .enum(['return', 'fail'])
        .default('return')
        .describe('After that. return: the last answer is given, marked as invalid. fail: the turn fails with 502.')
    })
    .prefault({})
    .describe('Checking answers against response_format.'),
  tool_search: z
    .strictObject({
      mode: z
        .enum(['auto', 'on', 'off'])
        .default('auto')
        .describe('off: all attached tools are shown. on: the search tool and what was found. auto: by size.'),
      auto_min_tokens: z
        .int()
        .min(0)
        .default(3000)
        .describe('auto switches search on when tool definitions exceed this many tokens (bytes ÷ 4).'),
      index: z
        .string()
        .default('lexical')
        .describe("lexical: ranked by words and word stems. regex: whole words, or a pattern. Or a plugin's."),
      max_results: orNull(z.int().min(1).max(100)).describe(
        'Tools found by one search, and the cap. null: 5, and the model may ask for 1 to 10.'
      ),
      max_results_limit: orNull(z.int().min(1).max(100)).describe(
        'The most the model may ask for, if not max_results.'
      ),
      accumulate: z
        .boolean()
        .default(true)
        .describe('true: found tools stay for the session. false: only those of the latest round that searched.'),
      tool_name: nameText()
        .regex(/^[a-zA-Z_][a-zA-Z0-9_-]{0,62}$/, 'must be the name of a function')
        .default('toolSearchTool')
        .describe('Name of the search tool.'),
      system_suffix: orNull(z.string().max(10_000)).describe(
        'Text appended to the first system message while search is on; null = a built-in sentence.'
      ),
      views: z
        .strictObject({
          max: z
            .int()
            .min(-1)
            .max(10_000_000)
            .default(1000)
            .describe('Sessions that hold an index in memory; 0 = none after a turn, -1 = no bound.'),
          ttl_ms: orNull(z.int().min(1).max(2_147_483_647)).describe(
            'Idle time after which a view is dropped, in ms; null = never. 1800000 is a good value.'
          )
        })
        .prefault({})
        .describe('Memory only: evicting a view forgets no found tool.'),
      max_indexes: z.int().min(1).max(100_000).default(64).describe('Distinct tool sets with an index in memory.'),
      index_memory_bytes: z
        .int()
        .min(1_048_576)
        .default(268_435_456)
        .describe('What these indexes may take together, as estimated; the one unused for longest goes first.')
    })
    .prefault({})
    .describe('Finding tools by search in place of showing them all.'),
  stream: z
    .strictObject({
      commit_ms: ms(0, 600_000)
        .default(10_000)
        .describe(
          'The head goes out at the first visible piece or after this time, in ms; until then errors keep their status.'
        ),
      keepalive_ms: ms(1, 600_000).default(15_000).describe('A comment is sent after this much silence, in ms.'),
      resumable: z
        .boolean()
        .default(false)
        .describe('Frames are kept, for clients that lose their connection; a request may ask for it too.'),
      resume_grace_ms: ms(0, 86_400_000)
        .default(30_000)
        .describe('How long a resumable turn goes on while nobody reads it, in ms.'),
      resume_keep_ms: ms(0, 86_400_000).default(300_000).describe('How long its frames are kept after its end, in ms.')
    })
    .prefault({})
    .describe('Streamed answers.')
}
