import { Webhook } from 'standardwebhooks'
import type { Test } from 'tap'
import { type RemoteOptions, remote } from '../../src/advisors/remote.ts'
import { consultation, type RemoteEndpoint } from '../../src/advisors/remote-consult.ts'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { Answer, Delta } from '../../src/core/chat.ts'
import { advised, type Model, type Turn } from '../../src/core/turn.ts'
import { chatShapes } from '../../src/dialects/openai-chat/shapes.ts'
import { newSigningSecret } from '../../src/egress/signing.ts'
import { usageOf } from '../../src/providers/openai/usage.ts'
import { aTurn, listener } from './turn.ts'
import { anEgress, anEndpoint, answering, type Endpoint } from './webhook.ts'

/** What a remote advisor was sent. */
export interface AdvisorRequest {
  readonly type: 'advisor.request' | 'advisor.response'
  readonly data: {
    readonly turn: string
    readonly round: number
    readonly messages?: readonly Readonly<Record<string, unknown>>[]
    readonly message?: Readonly<Record<string, unknown>>
    readonly tools: readonly string[]
    readonly usage: Readonly<Record<string, number>> | null
  }
}

/** An object is answered as JSON, `undefined` with 204. */
export type Decide = (asked: AdvisorRequest, nth: number) => object | undefined

export interface RemoteAdvisor extends Endpoint {
  readonly secret: string
  /** What it was asked, each verified by the standard's own library. */
  readonly asked: readonly AdvisorRequest[]
}

/** Somebody's remote advisor on loopback. */
export async function aRemoteAdvisor(t: Test, decide: Decide): Promise<RemoteAdvisor> {
  const secret = newSigningSecret()
  const asked: AdvisorRequest[] = []
  const endpoint = await anEndpoint((response, request) => {
    asked.push(new Webhook(secret).verify(request.body, request.headers as Record<string, string>) as AdvisorRequest)
    const said = decide(asked.at(-1) as AdvisorRequest, asked.length)
    if (said === undefined) answering(204, '', '')(response, request, response.req)
    else answering(200, JSON.stringify(said))(response, request, response.req)
  })
  t.teardown(() => endpoint.close())
  return Object.assign(endpoint, { secret, asked })
}

export interface Placed {
  readonly place: 'turn' | 'call'
  readonly mode: 'call' | 'stream'
}

/** Every place and mode: what holds must hold in each. */
export const EVERYWHERE: readonly Placed[] = (['turn', 'call'] as const).flatMap(place =>
  (['call', 'stream'] as const).map(mode => ({ place, mode }))
)

export interface Played {
  readonly answer?: Answer
  readonly error?: unknown
  readonly heard: readonly Delta[]
  readonly text: string
  readonly turn: ReturnType<typeof aTurn>
}

/** Plays one turn through a chain of the loop and the remote advisor, over a real socket. */
export async function played(
  t: Test,
  model: Model,
  {
    endpoint,
    placed: { place, mode },
    options = {},
    changes = {}
  }: {
    readonly endpoint: Partial<RemoteEndpoint> & Pick<RemoteEndpoint, 'url'>
    readonly placed: Placed
    readonly options?: Partial<RemoteOptions>
    readonly changes?: Partial<Turn>
  }
): Promise<Played> {
  const egress = anEgress()
  t.teardown(() => egress.close())
  const settings = { secret: newSigningSecret(), timeoutMs: 5000, egressPolicy: 'internal', ...endpoint }
  const consult = consultation(settings, { egress, shapes: chatShapes, decodeUsage: usageOf })
  const advisor = remote({
    ...{ name: 'check', on: ['request', 'response'], fail: 'open', isMetered: false, consult },
    ...options
  })
  const loop = toolLoop({ guards: [] })
  const chain = advised(model, ...(place === 'turn' ? [advisor, loop] : [loop, advisor]))
  const { emit, heard, text } = listener()
  const turn = aTurn({ ...changes, ...(mode === 'stream' && { emit }) })
  try {
    const answer = await chain(turn)
    return { answer, heard, text: text(), turn }
  } catch (error) {
    return { error, heard, text: text(), turn }
  }
}
