import { structuredOutput } from '../../src/advisors/structured-output.ts'
import { toolLoop } from '../../src/advisors/tool-loop.ts'
import type { Fields, ToolCall, Usage } from '../../src/core/chat.ts'
import type { StructuredOutputPolicy } from '../../src/core/policy.ts'
import { textOf } from '../../src/core/text.ts'
import { type Advisor, advised, type Run, type Turn } from '../../src/core/turn.ts'
import { limits } from '../../src/tools/guards/limits.ts'
import { outputJudge } from '../../src/tools/output-judge.ts'
import { aPolicy, aTurn, listener, type Scripted, scripted, toolbox } from './turn.ts'

/** The schema that is asked for unless another is given, and an answer that follows it. */
export const STOCK = {
  type: 'object',
  properties: { sku: { type: 'string' }, units: { type: 'integer' } },
  required: ['sku', 'units']
}
export const GOOD = '{"sku":"BX-1","units":17}'
export const usage: Usage = { prompt: 10, completion: 5, total: 15 }

export interface Asked {
  readonly schema?: Fields
  readonly format?: Fields
  readonly mode?: 'native' | 'prompt'
  readonly policy?: Partial<StructuredOutputPolicy>
  readonly tools?: Record<string, Run | undefined>
  readonly outside?: readonly Advisor[]
  readonly params?: Fields
  readonly changes?: Partial<Turn>
}

/** As OpenAI spells it. */
export const ofSchema = (schema: Fields): Fields => ({ type: 'json_schema', json_schema: { name: 'answer', schema } })

/** A turn through the advisor and the loop; `requests` is what the model was shown, a line a message. */
export async function ask(script: readonly Scripted[], asked: Asked = {}, stream = false) {
  const { schema = STOCK, format = ofSchema(schema), mode = 'native', tools = {}, outside = [] } = asked
  const model = scripted(script)
  const advisor = structuredOutput({ judge: outputJudge, modeOf: () => mode })
  const chain = advised(model, ...outside, advisor, toolLoop({ guards: [limits] }))
  const heard = listener()
  const policy = { ...aPolicy, structuredOutput: { ...aPolicy.structuredOutput, ...asked.policy } }
  const turn = aTurn({ policy, ...(stream && { emit: heard.emit }), ...asked.changes }, 'Stock?')
  const prompt = { ...turn.prompt, tools: toolbox(tools), params: { ...asked.params, response_format: format } }
  const answer = await chain({ ...turn, prompt })
  const requests = model.seen.map(({ prompt: { messages } }) =>
    messages.map(({ role, content }) => `${role}: ${textOf(content)}`)
  )
  return { answer, text: textOf(answer.message.content), requests, seen: model.seen, told: turn.told, heard }
}

/** The message that follows a refused answer. */
export const complaint = (reasons: string) =>
  `user: The answer was not accepted: ${reasons}. Answer again with JSON only.`
/** A call of the gateway's tool. */
export const call = (id: string): ToolCall => ({ id, name: 'stock_level', arguments: '{}' })
export const stockLevel: Run = async () => ({ content: '17', status: 'ok', attempts: 1 })
