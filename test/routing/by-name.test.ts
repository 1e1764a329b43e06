import t from 'tap'
import type { Turn } from '../../src/core/turn.ts'
import { byName } from '../../src/routing/by-name.ts'
import { aTurn, scripted } from '../helper/turn.ts'

function provider(name: string) {
  const seen: string[] = []
  const chat = (turn: Turn) => {
    seen.push(turn.prompt.model)
    return scripted([{ text: name }])(turn)
  }
  return { name, kind: 'openai', chat, seen }
}

const openai = provider('openai')
const router = provider('router')
const models = byName({
  providers: [
    { provider: openai, models: ['gpt-*', 'o*', 'gpt-5-mini'] },
    { provider: router, models: ['gpt-4*', '*/*', 'meta/llama'] }
  ],
  aliases: [{ name: 'fast', provider: 'openai', model: 'gpt-5-nano' }],
  defaultModel: 'fast'
})

t.test('by-name: alias, then provider/model, then the longest pattern', async t => {
  t.same(models.resolve('fast'), { kind: 'openai', provider: 'openai', model: 'gpt-5-nano' })
  t.same(models.resolve(''), { kind: 'openai', provider: 'openai', model: 'gpt-5-nano' }, 'no name: the default')
  t.same(models.resolve('router/meta/llama'), { kind: 'openai', provider: 'router', model: 'meta/llama' })
  t.same(models.resolve('openai/anything'), { kind: 'openai', provider: 'openai', model: 'anything' })
  t.same(models.resolve('gpt-5'), { kind: 'openai', provider: 'openai', model: 'gpt-5' })
  t.same(models.resolve('gpt-4o'), { kind: 'openai', provider: 'router', model: 'gpt-4o' })
  t.same(models.resolve('meta/llama'), { kind: 'openai', provider: 'router', model: 'meta/llama' })
  t.same(models.resolve('openai/'), { kind: 'openai', provider: 'router', model: 'openai/' })
  t.equal(models.resolve('claude'), undefined)
})

t.test("by-name: the provider is asked by its own model's name", async t => {
  const turn = aTurn()
  const answer = await models.chat({ ...turn, prompt: { ...turn.prompt, model: 'fast' } })
  t.equal(answer.message.content, 'openai')
  t.same(openai.seen, ['gpt-5-nano'])
  await models.chat({ ...turn, prompt: { ...turn.prompt, model: '' } })
  t.same(openai.seen, ['gpt-5-nano', 'gpt-5-nano'])
  const unknown = { ...turn, prompt: { ...turn.prompt, model: 'claude' } }
  await t.rejects(models.chat(unknown), { code: 'model_not_found', status: 404, message: /claude/ })
})

t.test('by-name: lists what has a name of its own, in the order of the file', async t => {
  t.same(
    models.list().map(({ id, ownedBy }) => [id, ownedBy]),
    [
      ['fast', 'openai'],
      ['gpt-5-mini', 'openai'],
      ['meta/llama', 'router']
    ]
  )
  t.ok(models.list().every(({ created }) => Number.isInteger(created) && created > 1_700_000_000))
})
