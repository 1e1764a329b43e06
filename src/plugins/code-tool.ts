import { parseArguments, withoutFields } from '../core/arguments.ts'
import type { Tool } from '../core/chat.ts'
import { GatewayError } from '../core/errors.ts'
import type { Run, ToolResult } from '../core/turn.ts'
import { augmented } from '../tools/augment.ts'
import { cutText } from '../tools/cut-text.ts'
import type { AugmentField } from '../tools/definition.ts'
import { modelText } from '../tools/model-text.ts'
import { refusedArguments } from '../tools/refused-arguments.ts'
import { schemaCheck } from '../tools/schema-check.ts'
import { visibleText } from '../tools/visible-text.ts'
import type { CodeTool } from './define-tool.ts'
import { inTime } from './in-time.ts'
import type { PluginServices } from './services.ts'

export interface CodeToolSettings {
  readonly options: unknown
  readonly services: PluginServices
  /** What the model sees of a result is cut to this. */
  readonly maxModelBytes: number
  /** Arguments that the model is asked for beside the tool's own. */
  readonly augment: readonly AugmentField[]
}

const MAX_MESSAGE = 1000

/** Makes the tool that turns are given of one that a plugin defines. */
export function codeTool(code: CodeTool<unknown>, settings: CodeToolSettings): Tool {
  const { name, description, input_schema, annotations = {}, group, always_visible, sequential, return_direct } = code
  const { read_only, destructive, idempotent } = annotations
  const tool: Tool = {
    name,
    description,
    parameters: input_schema,
    kind: 'builtin',
    run: runOf(code, settings),
    ...(group !== undefined && { group }),
    ...(always_visible && { alwaysVisible: true }),
    ...(sequential && { sequential: true }),
    ...(return_direct && { returnDirect: true }),
    annotations: {
      ...(read_only !== undefined && { readOnly: read_only }),
      ...(destructive !== undefined && { destructive }),
      ...(idempotent !== undefined && { idempotent })
    }
  }
  return augmented(tool, settings.augment)
}

function runOf(code: CodeTool<unknown>, { options, services, maxModelBytes, augment }: CodeToolSettings): Run {
  const added = augment.map(({ name }) => name)
  return async (call, turn) => {
    const parsed = parseArguments(call.arguments)
    if (!parsed.ok) return refusedArguments(code, parsed.reason)
    const complaint = schemaCheck(code.input_schema)(withoutFields(parsed.value, added))
    if (complaint !== undefined) return refusedArguments(code, `${complaint}.`)
    try {
      const said = await inTime(startOf(code, parsed.value, { call, turn, options, services }), turn.signal)
      return {
        content: modelText({ text: visibleText(textOf(said)), cut: false }, maxModelBytes),
        status: 'ok',
        attempts: 1,
        // The model is told that there was nothing; a client whose answer it is gets just that.
        ...(said === undefined && { direct: '' })
      }
    } catch (error) {
      turn.signal.throwIfAborted()
      return failed(code, error, services)
    }
  }
}

/** A tool that is no `async` function may throw at once. */
async function startOf(code: CodeTool<unknown>, ...parameters: Parameters<CodeTool<unknown>['run']>): Promise<unknown> {
  return code.run(...parameters)
}

function textOf(said: unknown): string {
  if (typeof said === 'string') return said
  return JSON.stringify(said) ?? '(no content)'
}

function failed({ name }: CodeTool<unknown>, error: unknown, { log }: PluginServices): ToolResult {
  if (error instanceof GatewayError) {
    return {
      content: cutText(visibleText(error.message), MAX_MESSAGE),
      status: 'error',
      code: 'tool_error',
      attempts: 1
    }
  }
  log.error({ event: 'plugin.tool_failed', tool: name, err: error }, 'a tool of a plugin failed')
  return { content: `The tool ${name} failed.`, status: 'error', code: 'tool_error', attempts: 1 }
}
