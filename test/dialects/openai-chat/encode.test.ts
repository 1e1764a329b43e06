import t from 'tap'
import { encode } from '../../../src/dialects/openai-chat/encode.ts'
import { anAnswer } from '../../helper/an-answer.ts'

const head = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'sim' }

t.test('encode: an answer as the contract shows it', async t => {
  const usage = { prompt: 100, completion: 16, total: 116 }
  t.equal(
    encode(anAnswer({}, { usage }), head),
    '{"id":"chatcmpl-1","object":"chat.completion","created":1790000000,"model":"sim","choices":[{"index":0,' +
      '"message":{"role":"assistant","content":"There are 17.","refusal":null},"logprobs":null,"finish_reason":"stop"}],' +
      '"usage":{"prompt_tokens":100,"completion_tokens":16,"total_tokens":116}}'
  )
  t.notOk(encode(anAnswer(), head).includes('usage'), 'no usage where none is known')
})

t.test('encode: details, reasoning, refusal, calls, fields and choices are passed on', async t => {
  const calls = [{ id: 'c1', name: 'f', arguments: '{}', extra: { extra_content: 1 } }]
  const reported = { prompt: 1, completion: 2, total: 3, cached: 0, reasoning: 1 }
  const usage = { ...reported, other: { 'prompt_tokens_details.audio_tokens': 4, cost: 5 } }
  const choice = {
    logprobs: { content: [] },
    others: [{ index: 1, message: { role: 'assistant', content: 'b' }, finish_reason: 'stop' }],
    fields: { system_fingerprint: 'fp', obfuscation: 'x', id: 'theirs' }
  }
  const message = { content: '', calls, reasoning: { text: 'hm', field: 'reasoning' }, extra: { annotations: [1] } }
  const body = JSON.parse(encode(anAnswer(message, { usage, choice, finish: 'client_calls' }), head, { finish: 'x' }))
  t.strictSame(body, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: head.created,
    model: 'sim',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          refusal: null,
          reasoning_content: 'hm',
          annotations: [1],
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: 1 }]
        },
        logprobs: { content: [] },
        finish_reason: 'tool_calls'
      },
      choice.others[0]
    ],
    usage: {
      prompt_tokens: 1,
      completion_tokens: 2,
      total_tokens: 3,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 1 },
      cost: 5
    },
    system_fingerprint: 'fp',
    loopgate: { finish: 'x' }
  })
  const refused = JSON.parse(encode(anAnswer({ content: '', refusal: 'no' }), head)).choices[0].message
  t.match(refused, { content: null, refusal: 'no' })
  t.equal(JSON.parse(encode(anAnswer({ content: '' }), head)).choices[0].message.content, '')
})

t.test('encode: every end of a turn has its finish_reason', async t => {
  const table = {
    stop: 'stop',
    return_direct: 'stop',
    length: 'length',
    content_filter: 'content_filter',
    client_calls: 'tool_calls',
    tool_call_limit: 'length',
    identical_calls: 'length',
    round_limit: 'length',
    token_limit: 'length',
    time_limit: 'length'
  } as const
  for (const [finish, reason] of Object.entries(table)) {
    const body = encode(anAnswer({}, { finish: finish as keyof typeof table }), head)
    t.equal(JSON.parse(body).choices[0].finish_reason, reason, finish)
  }
})
