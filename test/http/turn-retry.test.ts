import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import type { Session } from '../../src/core/principal.ts'
import { LiveTurns } from '../../src/http/live-turns.ts'
import { type RetryServices, retried } from '../../src/http/turn-retry.ts'
import type { JournalTurn } from '../../src/stores/contracts.ts'
import { aPrincipal } from '../helper/edge.ts'

const session: Session = { key: 'k', id: 's1', branch: 'main', named: true }

function asked(headers: Record<string, string>) {
  const request = { headers, body: { messages: [] }, routeOptions: { url: '/v1/chat/completions' } }
  const raw = { once: () => {}, off: () => {} }
  return {
    ...{ request: request as unknown as FastifyRequest, reply: { raw } as unknown as FastifyReply },
    ...{ principal: aPrincipal, session }
  }
}

/** A store in which every request came before, with one turn that changes its state. */
function services(state: () => JournalTurn['state'], queueMs = 60_000): RetryServices {
  const turn = (): JournalTurn => ({
    ...{ ref: { turn: 'turn_1', fence: 1 }, state: state(), session, startedAt: 1, messages: [], isDelivered: false },
    ...(state() === 'failed' && { outcome: '{"error":{}}' })
  })
  const bodyHash = retried({} as RetryServices, asked({}))
  if (bodyHash instanceof Promise || bodyHash.kind !== 'new') throw new Error('nothing says that it came before')
  const hash = bodyHash.rows()[0]?.bodyHash ?? ''
  return {
    journal: {
      retry: async () => ({ turn: 'turn_1', bodyHash: hash }),
      get: async () => turn(),
      take: async () => undefined
    },
    live: new LiveTurns(),
    onUnknown: () => {},
    config: { session: { queue_ms: queueMs } } as RetryServices['config']
  }
}

for (const headers of [{ 'idempotency-key': 'k1' }, { 'x-stainless-retry-count': '1' }]) {
  const by = Object.keys(headers)[0]
  t.test(`${by}: a turn that is being ended by another request is no new one`, async t => {
    let state: JournalTurn['state'] = 'running'
    const answer = Promise.resolve(
      retried(
        services(() => state),
        asked(headers)
      )
    )
    t.equal(await Promise.race([answer, sleep(60, 'waits')]), 'waits')
    state = 'failed'
    t.match(await answer, { kind: 'again', outcome: '{"error":{}}' })
  })

  t.test(`${by}: where that takes too long the request is to come again`, async t => {
    await t.rejects(
      Promise.resolve(
        retried(
          services(() => 'running', 30),
          asked(headers)
        )
      ),
      {
        code: 'idempotency_in_progress'
      }
    )
  })
}
