import OpenAI from 'openai'
import type { ChatCompletion, ChatCompletionCreateParams } from 'openai/resources/chat/completions'
import t from 'tap'
import { checkAnswer } from '../helper/check-answer.ts'
import { type ClientAnswer, type ClientCase, clientCases } from '../helper/client-cases.ts'
import { twoGateways } from '../helper/two-gateways.ts'

// Starts processes, which takes a while on a busy machine.
t.setTimeout(300_000)

t.test('the official SDK for Node gets one clean answer, whatever it took', async t => {
  const gateways = await twoGateways()
  t.teardown(() => gateways.stop())
  const client = new OpenAI({ baseURL: `${gateways.front.url}/v1`, apiKey: 'any', maxRetries: 0 })

  for (const each of clientCases) {
    for (const mode of ['call', 'stream'] as const) {
      gateways.toolCalls.length = 0
      const session = `node-${mode}-${each.name.replaceAll(' ', '-')}`
      const got = await (mode === 'call' ? called : streamed)(client, each, session)
      checkAnswer(t, `${mode}, ${each.name}`, { each, got, toolCalls: gateways.toolCalls })
    }
  }
})

t.test("an error is the SDK's own kind of error, with our code", async t => {
  const gateways = await twoGateways()
  t.teardown(() => gateways.stop())
  const client = new OpenAI({ baseURL: `${gateways.front.url}/v1`, apiKey: 'any', maxRetries: 0 })
  await t.rejects(
    client.chat.completions.create({ model: 'no-such-model', messages: [{ role: 'user', content: 'x' }] }),
    {
      name: 'Error',
      status: 404,
      code: 'model_not_found'
    }
  )
  const { data } = await client.models.list()
  t.ok(
    data.some(({ id }) => id === 'sim'),
    'and models can be listed'
  )
})

type Extras = { readonly loopgate: ClientAnswer['loopgate'] }

function parametersOf({ question, loopgate }: ClientCase) {
  const extras = { loopgate: { ...loopgate, include: ['rounds'] } }
  const parameters: ChatCompletionCreateParams = { model: 'sim', messages: [{ role: 'user', content: question }] }
  return { ...parameters, ...extras }
}

async function called(client: OpenAI, each: ClientCase, session: string): Promise<ClientAnswer> {
  const parameters = { ...parametersOf(each), stream: false as const }
  const answer = (await client.chat.completions.create(parameters, {
    headers: { 'x-session-id': session }
  })) as ChatCompletion & Extras
  const [choice] = answer.choices
  return {
    text: choice?.message.content ?? '',
    finish: choice?.finish_reason ?? '',
    usage: answer.usage as ClientAnswer['usage'],
    loopgate: answer.loopgate
  }
}

async function streamed(client: OpenAI, each: ClientCase, session: string): Promise<ClientAnswer> {
  const parameters = { ...parametersOf(each), stream: true as const, stream_options: { include_usage: true } }
  const stream = await client.chat.completions.create(parameters, { headers: { 'x-session-id': session } })
  let [text, finish] = ['', '']
  let usage: unknown
  let loopgate: unknown
  for await (const chunk of stream) {
    const { choices, usage: counted } = chunk
    for (const { delta, finish_reason } of choices) {
      text += delta.content ?? ''
      finish = finish_reason ?? finish
    }
    usage = counted ?? usage
    loopgate = (chunk as unknown as Partial<Extras>).loopgate ?? loopgate
  }
  return { text, finish, usage, loopgate } as ClientAnswer
}
