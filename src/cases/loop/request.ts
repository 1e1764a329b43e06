import { type Fields, isFields } from '../fields.ts'
import type { LoopCase, LoopTurn } from './case.ts'
import { ENTITY } from './config.ts'

/** The client's request for a turn of a case (contract §16). */
export function requestOf({ config }: LoopCase, turn: LoopTurn, stream: boolean): Fields {
  const system = turn.system ?? config.system
  const schema = schemaOf(config)
  return {
    model: 'stub-1',
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...(turn.history ?? []),
      { role: 'user', content: turn.user }
    ],
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    ...(config.toolChoice !== undefined && { tool_choice: config.toolChoice }),
    ...(schema && { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } } }),
    loopgate: {
      include: ['summary'],
      ...(turn.tools && { tools: [...new Set(turn.tools.map(name => name.split('#')[0]))] }),
      ...(config.autoToolExecution === false && { tool_execution: 'manual' })
    }
  }
}

/** The schema that answers must keep; `entity` means one of its own. */
export function schemaOf({ structuredOutput, entity }: LoopCase['config']): Fields | undefined {
  return isFields(structuredOutput?.schema) ? structuredOutput.schema : entity === undefined ? undefined : ENTITY
}
