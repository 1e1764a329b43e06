import type { Answer } from '../../core/chat.ts'
import { GatewayError } from '../../core/errors.ts'
import { withSpent } from '../../core/spent.ts'
import type { Turn } from '../../core/turn.ts'
import type { Provider } from '../provider.ts'
import { httpTransport, type Timeouts, type Transport } from '../transport.ts'
import { AnswerReader } from './answer-reader.ts'
import { encode } from './encode.ts'
import { sdkTransport } from './sdk.ts'

export interface OpenAIOptions {
  readonly name: string
  /** Up to and with `/v1`; a query is kept. */
  readonly baseUrl: string
  /** Sent as `authorization: Bearer`. */
  readonly apiKey?: string | undefined
  /** Added to every request; they win over the gateway's own. */
  readonly headers?: Readonly<Record<string, string>>
  readonly emptyAssistantContent?: 'null' | 'empty_string'
  readonly replayReasoning?: 'auto' | 'never' | (string & {})
  readonly timeouts: Timeouts
  /** `sdk`: by the vendor's package, loaded when first used. */
  readonly transport: 'http' | 'sdk'
}

/** Any server that speaks OpenAI chat completions. */
export function openaiProvider(options: OpenAIOptions): Provider {
  const { name, emptyAssistantContent = 'null', replayReasoning = 'auto' } = options
  const transport = transportOf(options)

  return {
    name,
    kind: 'openai',
    close: () => transport.close(),
    chat: turn => {
      const stream = turn.emit !== undefined
      const body = encode(turn.prompt, { emptyAssistantContent, replayReasoning, question: turn.question, stream })
      return ask(turn, name, transport, body)
    }
  }
}

function transportOf({ name, baseUrl, apiKey, headers, timeouts, transport }: OpenAIOptions): Transport {
  const own = Object.fromEntries(Object.entries(headers ?? {}).map(([key, value]) => [key.toLowerCase(), value]))
  if (transport === 'sdk') return sdkTransport({ name, baseUrl, apiKey, headers: own, timeouts })
  const all = { 'user-agent': 'loopgate', ...(apiKey && { authorization: `Bearer ${apiKey}` }), ...own }
  return httpTransport({ name, baseUrl, headers: all, timeouts })
}

async function ask(turn: Turn, name: string, transport: Transport, body: string): Promise<Answer> {
  const startedAt = performance.now()
  const reader = new AnswerReader(turn, name)
  let firstByteMs: number | undefined
  const headers = {
    accept: turn.emit === undefined ? 'application/json' : 'text/event-stream',
    // A provider may be a gateway too, even this one.
    'x-gateway-hops': String(turn.request.hops + 1)
  }

  const tell = (outcome: string): void =>
    turn.tell({
      type: 'attempt',
      round: turn.round,
      provider: name,
      model: turn.prompt.model,
      durationMs: since(startedAt),
      outcome,
      ...(reader.status !== undefined && { status: reader.status }),
      ...(firstByteMs !== undefined && { firstByteMs })
    })

  turn.tell({ type: 'attempt.start', round: turn.round, provider: name, model: turn.prompt.model })
  try {
    await transport.exchange({ path: '/chat/completions', body, headers, signal: turn.signal }, head => {
      firstByteMs = since(startedAt)
      return reader.open(head)
    })
    const answer = await reader.finish()
    tell('ok')
    return answer
  } catch (caught) {
    const error = withSpent(reader.instead(caught), reader.usage)
    tell(error instanceof GatewayError ? error.code : 'cancelled')
    throw error
  }
}

function since(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 1000) / 1000
}
