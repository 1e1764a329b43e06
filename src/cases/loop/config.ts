/** The configuration of a loop case and the tools it registers: the table of contract §16. */
import type { Fields } from '../fields.ts'
import type { LoopCase, LoopTool } from './case.ts'

/** The schema that `entity` means. */
export const ENTITY: Fields = {
  type: 'object',
  properties: { sku: { type: 'string' }, units: { type: 'integer' } },
  required: ['sku', 'units'],
  additionalProperties: false
}

export function loopConfig(one: LoopCase, upstreamUrl: string, webhookUrl: string): Fields {
  const { config } = one
  return {
    version: 1,
    default_model: 'stub-1',
    providers: [
      {
        name: 'up',
        kind: 'openai',
        base_url: `${upstreamUrl}/v1`,
        api_keys: ['upstream-key-of-the-cases'],
        models: ['stub-1']
      }
    ],
    // The waits between attempts are no part of a case.
    retry: { max_retries: retries(one), min_ms: 1, max_ms: 20 },
    memory: memoryOf(config),
    ...(config.limits && { limits: limitsOf(config.limits) }),
    tool_search: toolSearchOf(config),
    ...structuredOutput(config),
    ...(config.extraToolAdvisors !== undefined && {
      chain: { turn: ['audit', 'memory', ...Array(config.extraToolAdvisors).fill('tool-loop')] }
    }),
    ...(hasTwins(one) && { tools: one.tools.map(tool => definitionOf(one, tool, webhookUrl)) })
  }
}

/**
 * As a call, an answer that breaks off has shown nothing, so that it would be asked for again; the script has nothing
 * for that, as it was recorded of a stream.
 */
function retries({ mode, turns }: LoopCase): number {
  const breaksOff = turns.some(({ modelScript }) => modelScript.some(({ abort }) => abort === true))
  return mode === 'call' && breaksOff ? 0 : 3
}

function memoryOf({ memory }: LoopCase['config']): Fields {
  if (!memory) return { mode: 'off' }
  return {
    mode: 'on',
    recall: memory.placement === 'inside' ? 'all' : 'answers',
    ...(memory.maxMessages !== undefined && { window: { max_messages: memory.maxMessages } })
  }
}

function limitsOf(limits: NonNullable<LoopCase['config']['limits']>): Fields {
  const { maxCallsPerTool, perTool, excludedTools, maxTotalToolCalls, onLimitExceeded } = limits
  return {
    ...(maxCallsPerTool !== undefined && { max_calls_per_tool: maxCallsPerTool }),
    ...(perTool && { per_tool: perTool }),
    ...(excludedTools && { exempt_tools: excludedTools }),
    ...(maxTotalToolCalls !== undefined && { max_calls: maxTotalToolCalls }),
    ...(onLimitExceeded !== undefined && { on_limit: onLimitExceeded === 'THROW' ? 'stop' : 'tell_model' })
  }
}

function toolSearchOf({ toolSearch }: LoopCase['config']): Fields {
  if (!toolSearch) return { mode: 'off' }
  const { index, systemSuffix, maxResults, accumulate, lruMaxSessions } = toolSearch
  return {
    mode: 'on',
    ...(index && { index: index === 'lucene' ? 'lexical' : index }),
    ...(systemSuffix !== undefined && { system_suffix: systemSuffix }),
    ...(maxResults !== undefined && { max_results: maxResults }),
    ...(accumulate !== undefined && { accumulate }),
    ...(lruMaxSessions !== undefined && { views: { max: lruMaxSessions } })
  }
}

function structuredOutput({ structuredOutput: wanted, entity }: LoopCase['config']): Fields {
  if (!wanted && entity === undefined) return {}
  const mode = entity === 'prompt' || entity === 'validate' ? 'prompt' : 'native'
  const retries = wanted?.maxRetries
  return { structured_output: { mode, ...(retries !== undefined && { max_retries: retries }) } }
}

/** Two tools of one name that no turn tells apart: they can only stand in the file, and the start is refused. */
export function hasTwins({ tools, turns }: LoopCase): boolean {
  const names = tools.map(({ name }) => name)
  return new Set(names).size < names.length && !turns.some(turn => turn.tools?.some(name => name.includes('#')))
}

/** A tool as it is registered. */
export function definitionOf({ config }: LoopCase, tool: LoopTool, webhookUrl: string): Fields {
  const { augment } = config
  return {
    name: tool.name,
    description: tool.description,
    input_schema: tool.parameters,
    endpoint: { url: `${webhookUrl}/tools/${tool.name}`, egress_policy: 'internal' },
    ...(tool.returnDirect && { return_direct: true }),
    ...(augment && {
      augment: [
        {
          name: augment.field,
          description: `The field ${augment.field} of the case`,
          schema: { type: 'string' },
          required: true,
          forward: augment.removeAfterProcessing === false
        }
      ]
    })
  }
}
