import t from 'tap'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { ToolCall } from '../../src/core/chat.ts'
import {
  type Advisor,
  advised,
  extend,
  type Guard,
  guarded,
  type Model,
  type Run,
  revise
} from '../../src/core/turn.ts'
import { aTurn, listener, scripted, toolbox } from '../helper/turn.ts'

/** Writes its name into `log` on the way in and on the way out. */
function passing(name: string, log: string[]): Advisor {
  return {
    name,
    async advise(turn, next) {
      log.push(`> ${name}`)
      const answer = await next(turn)
      log.push(`< ${name}`)
      return answer
    }
  }
}

t.test('advisors stand around the model in the order in which they are given, in call and stream', async t => {
  for (const emit of [undefined, listener().emit]) {
    const log: string[] = []
    const model: Model = turn => {
      log.push('model')
      return scripted([{ text: 'ok' }])(turn)
    }
    // Two of the same name: what decides is the place.
    const chain = advised(model, passing('a', log), passing('b', log), passing('b', log), passing('c', log))
    for (let times = 0; times < 2; times++) {
      log.length = 0
      t.equal((await chain(aTurn({ emit }))).message.content, 'ok')
      t.strictSame(log, ['> a', '> b', '> b', '> c', 'model', '< c', '< b', '< b', '< a'], 'as often as it is asked')
    }
  }
})

t.test(
  'a chain without advisors is the model itself, and one that is put around another leaves that as it was',
  async t => {
    const model = scripted([{ text: '1' }, { text: '2' }, { text: '3' }])
    t.equal(advised(model), model)
    const log: string[] = []
    const inner = advised(model, passing('inner', log))
    const outer = advised(inner, passing('outer', log))
    await inner(aTurn())
    t.strictSame(log, ['> inner', '< inner'])
    log.length = 0
    await outer(aTurn())
    t.strictSame(log, ['> outer', '> inner', '< inner', '< outer'])
  }
)

t.test('an advisor asks on as often as it likes; each time the rest of the chain runs from the start', async t => {
  const log: string[] = []
  const model = scripted([{ text: 'first' }, { text: 'second' }])
  const twice: Advisor = {
    name: 'twice',
    async advise(turn, next) {
      await next(turn)
      return next(turn)
    }
  }
  const chain = advised(model, passing('outside', log), twice, passing('inside', log))
  t.equal((await chain(aTurn())).message.content, 'second')
  t.strictSame(log, ['> outside', '> inside', '< inside', '> inside', '< inside', '< outside'])
})

t.test('around the loop an advisor is asked once a turn, inside it once a round, in call and stream', async t => {
  const tools = toolbox({ a: async () => ({ content: '17', status: 'ok' }) })
  const calls = [{ id: 'c', name: 'a', arguments: '{}' }]
  for (const emit of [undefined, listener().emit]) {
    for (const script of [[{ text: 'ok' }], [{ calls }, { text: 'ok' }]]) {
      const log: string[] = []
      const model = scripted(script)
      const chain = advised(model, passing('outside', log), toolLoop({ guards: [] }), passing('inside', log))
      const turn = aTurn({ emit })
      await chain({ ...turn, prompt: { ...turn.prompt, tools } })
      const round = ['> inside', '< inside']
      t.strictSame(log, ['> outside', ...script.flatMap(() => round), '< outside'], `${script.length} rounds`)
    }
  }
})

t.test('an advisor that does not ask on answers in the place of the model', async t => {
  const model = scripted([{ text: 'never' }])
  const said = await scripted([{ text: 'No.' }])(aTurn())
  const answer = await advised(model, { name: 'no', advise: async () => said })(aTurn())
  t.equal(answer, said)
  t.equal(model.seen.length, 0)
})

t.test('what an advisor changes is seen further inside and by nobody else', async t => {
  const turn = aTurn()
  const before = JSON.stringify(turn.prompt)
  let outside: unknown
  const model = scripted([{ text: 'ok' }])
  const chain = advised(
    model,
    {
      name: 'outer',
      async advise(turn, next) {
        const answer = await next(turn)
        outside = turn.prompt
        return answer
      }
    },
    {
      name: 'inner',
      advise: (turn, next) =>
        next(extend(revise(turn, { model: 'other' }), [{ role: 'user', id: 'x', content: 'And?' }]))
    }
  )
  await chain(turn)
  t.match(model.seen[0]?.prompt, { model: 'other', messages: { length: 2 } })
  t.equal(outside, turn.prompt)
  t.equal(JSON.stringify(turn.prompt), before)
  t.equal(extend(turn, []), turn, 'nothing added is no copy')
})

t.test('an error of the model comes to each advisor as it is, and to whoever asked', async t => {
  const error = new Error('down')
  const caught: unknown[] = []
  const catching: Advisor = {
    name: 'catching',
    async advise(turn, next) {
      try {
        return await next(turn)
      } catch (thrown) {
        caught.push(thrown)
        throw thrown
      }
    }
  }
  await t.rejects(advised(scripted([{ error }]), catching, catching)(aTurn()), error)
  t.strictSame(caught, [error, error])
  t.ok(caught.every(each => each === error))
})

t.test(
  'guards stand around a tool like advisors around a model; one may refuse, change the call or run it twice',
  async t => {
    const call: ToolCall = { id: 'c', name: 'a', arguments: '{"n":1}' }
    const ran: string[] = []
    const run: Run = async ({ arguments: text }) => {
      ran.push(text)
      return { content: text, status: 'ok' }
    }
    const changing: Guard = { name: 'x', guard: (call, turn, next) => next({ ...call, arguments: '{"n":2}' }, turn) }
    const twice: Guard = {
      name: 'y',
      async guard(call, turn, next) {
        await next(call, turn)
        return next(call, turn)
      }
    }
    const refusing: Guard = {
      name: 'z',
      guard: async () => ({ content: 'No.', status: 'refused', code: 'tool_limit' })
    }
    t.match(await guarded(run, changing, twice)(call, aTurn()), { content: '{"n":2}' })
    t.strictSame(ran, ['{"n":2}', '{"n":2}'])
    t.match(await guarded(run, refusing, twice)(call, aTurn()), { status: 'refused' })
    t.equal(ran.length, 2, 'nothing ran')
    t.equal(guarded(run), run)
  }
)
