/** Which models there are, who serves them, and how patiently they are asked. */
import { z } from 'zod'
import { ms, nameText, orNull, plainUrl, price } from '../fields.ts'

const connectMs = ms(1, 600_000).describe('Longest time to open a connection, in ms.')
const firstByteMs = ms(1, 3_600_000).describe('Longest wait for the first byte of an answer, in ms.')
const idleMs = ms(1, 3_600_000).describe('Longest silence between two pieces of an answer, in ms.')
const maxRetries = z.int().min(0).max(20).describe('Attempts after the first, before anything was shown to the client.')
const minMs = ms(0, 600_000).describe('Shortest wait in ms; the longest possible doubles from it, attempt by attempt.')
const maxMs = ms(0, 600_000).describe('Longest wait between attempts in ms.')

const provider = z.strictObject({
  name: nameText().describe('Unique; models can be asked for as name/model.'),
  kind: z.enum(['openai', 'sim']).describe('openai: any compatible server. sim: the built-in simulator.'),
  base_url: orNull(plainUrl()).describe('Up to and with /v1. Default for kind openai: https://api.openai.com/v1.'),
  api_keys: z
    .array(z.string())
    .transform(keys => keys.filter(key => key !== ''))
    .refine(keys => keys.length <= 1, 'holds more than one key; rotation is not there yet, so list at most one')
    .default([])
    .describe('The key sent as Authorization: Bearer; at most one for now. Empty: none is sent.'),
  models: z
    .array(z.string().min(1).max(256))
    .default([])
    .describe('Names and globs (gpt-*) that go here without being written name/model; the longest match wins.'),
  headers: z.record(z.string(), z.string()).default({}).describe('Headers added to every request.'),
  empty_assistant_content: orNull(z.enum(['empty_string'])).describe(
    'What stands for empty text beside calls: null, or empty_string ("") for servers that refuse null.'
  ),
  replay_reasoning: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be auto, never or the name of a field')
    .default('auto')
    .describe(
      'Reasoning within a turn. auto: sent back exactly as received. never: left out. Else: the field it goes into.'
    ),
  structured_output: z
    .enum(['native', 'prompt'])
    .default('native')
    .describe('Are its models sent response_format (native), or told of it in words (prompt)?'),
  transport: z
    .enum(['http', 'sdk'])
    .default('http')
    .describe("http: the gateway's own. sdk: the vendor's package, loaded when first used."),
  timeouts: z
    .strictObject({
      connect_ms: connectMs.optional(),
      first_byte_ms: firstByteMs.optional(),
      idle_ms: idleMs.optional()
    })
    .prefault({})
    .describe('Differences from the section timeouts.'),
  retry: z
    .strictObject({ max_retries: maxRetries.optional(), min_ms: minMs.optional(), max_ms: maxMs.optional() })
    .prefault({})
    .describe('Differences from the section retry.')
})

const alias = z.strictObject({
  name: nameText().describe('What clients ask for; unique.'),
  targets: z
    .array(
      z.strictObject({
        provider: nameText().describe('Name of a provider.'),
        model: z.string().min(1).max(256).describe("The provider's own name of the model."),
        prices: orNull(price()).describe('What it charges when asked for by this alias, whatever prices says.')
      })
    )
    .length(1, 'must hold exactly one target; weights and fallbacks are not there yet')
    .describe('Exactly one {provider, model}; its prices may stand beside it.')
})

export const providerSections = {
  default_model: z.string().min(1).max(256).default('sim').describe('The model of requests that name none.'),
  providers: z
    .array(provider)
    .max(1000)
    .default([])
    .describe('Upstreams. Those whose key is in the environment need no entry; with none at all there is sim.'),
  models: z.array(alias).max(10_000).default([]).describe('Aliases: names of your own for models of providers.'),
  retry: z
    .strictObject({
      max_retries: maxRetries.default(2),
      min_ms: minMs.default(250),
      max_ms: maxMs.default(4000)
    })
    .prefault({})
    .describe('When an upstream fails in passing. Tools are never run again by it.'),
  timeouts: z
    .strictObject({
      connect_ms: connectMs.default(5000),
      first_byte_ms: firstByteMs.default(120_000),
      idle_ms: idleMs.default(120_000)
    })
    .prefault({})
    .describe('How long upstreams may be silent.')
}
