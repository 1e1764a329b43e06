import t from 'tap'
import type { Answer } from '../../src/core/chat.ts'
import type { Advisor, Model, Turn } from '../../src/core/turn.ts'
import { laws, type Subject } from '../../src/laws/laws.ts'

const CHAINS = 2000

const subject = (name: string, advise: Advisor['advise'], places: Subject['places'] = ['turn', 'call']): Subject => ({
  name,
  places,
  create: () => ({ name, advise })
})

t.test(
  'the built-in loop, memory, structured-output, tool-search, retry, meter and audit keep the laws in 5,000 random chains',
  async t => {
    t.equal(
      await laws(
        subject('nothing', (turn, next) => next(turn)),
        { chains: 5000 }
      ),
      undefined
    )
  }
)

const faults: Subject[] = [
  subject(
    'loses the usage of one round',
    async (turn, next) => {
      const { usage, ...answer } = await next(turn)
      return turn.round === 2 || usage === undefined ? answer : { ...answer, usage }
    },
    ['call']
  ),
  subject('sends a piece twice', (turn, next) => {
    const { emit } = turn
    let sent = 0
    return next({
      ...turn,
      emit: emit && (delta => (++sent === 2 ? Promise.resolve(emit(delta)).then(() => emit(delta)) : emit(delta)))
    })
  }),
  subject(
    'leaves the answer out of the messages',
    async (turn, next) => {
      const answer = await next(turn)
      return { ...answer, messages: answer.messages.slice(0, -1) }
    },
    ['turn']
  ),
  subject('ignores that the client left', ignoresAbort),
  subject('swaps the order of pieces', (turn, next) => swapped(turn, next)),
  subject('drops a call', async (turn, next) => dropsResult(await next(turn)), ['turn'])
]

const forgetful: Subject = {
  name: 'keeps a result without its call',
  places: ['turn'],
  create: sessions => ({
    name: 'forgetful',
    async advise(turn, next) {
      const answer = await next(turn)
      const messages = answer.messages.filter(({ role }) => role !== 'assistant')
      const kept = { id: turn.id, status: 'completed', messages, createdAt: 0 } as const
      await sessions.append(turn.session, { tenant: 'default', keyId: 'dev' }, kept)
      return answer
    }
  })
}

for (const fault of [...faults, forgetful]) {
  t.test(`an advisor that ${fault.name} is found within ${CHAINS} chains`, async t => {
    const found = await laws(fault, { chains: CHAINS })
    t.ok(found, 'a law was broken')
    t.ok(found?.laws.length, found?.laws.join('; ') ?? 'nothing was found')
    t.same(await laws(fault, { chains: 1, seed: found?.seed ?? 0 }), found, 'and its seed shows it again')
  })
}

function ignoresAbort(turn: Turn, next: Model): Promise<Answer> {
  return next({ ...turn, signal: new AbortController().signal })
}

async function swapped(turn: Turn, next: Model): Promise<Answer> {
  const { emit } = turn
  if (!emit) return next(turn)
  let kept: Parameters<typeof emit>[0] | undefined
  const answer = await next({
    ...turn,
    emit: delta => {
      if (delta.type !== 'text' || kept) return emit(delta)
      kept = delta
      return undefined
    }
  })
  if (kept) await emit(kept)
  return answer
}

function dropsResult(answer: Answer): Answer {
  const at = answer.messages.findLastIndex(({ role }) => role === 'tool')
  return at === -1 ? answer : { ...answer, messages: answer.messages.filter((_, index) => index !== at) }
}
