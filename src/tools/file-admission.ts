import { type JudgeOptions, judge } from '../egress/judge.ts'
import type { ToolDefaults } from './definition.ts'
import { toolFaults } from './registration.ts'

export interface FileAdmissionOptions {
  readonly egress: Omit<JudgeOptions, 'listening'>
  /** Names of the gateway's own tools. */
  readonly reserved: readonly string[]
  readonly defaults: ToolDefaults
}

/** What is wrong with one of the tools; `param` is the field, such as `endpoint.url`. */
export interface ToolProblem {
  readonly index: number
  readonly param: string
  /** Goes on after the name of the field: `must be https (egress policy public)`. */
  readonly message: string
}

/** Checks the tools of the file as a registration would be, before anything is started. */
export function fileToolProblems(tools: readonly unknown[], options: FileAdmissionOptions): ToolProblem[] {
  const { url } = judge(options.egress)
  const egress = { policies: Object.keys(options.egress.policies), judgeUrl: url }
  return tools.flatMap((tool, index) =>
    toolFaults(tool, 'file', { egress, reserved: options.reserved, defaults: options.defaults }).map(
      ({ message, detail: { param = '' } }): ToolProblem => {
        const sentence = message.startsWith(`${param} `) ? message.slice(param.length + 1) : message
        return { index, param, message: sentence.replace(/\.$/, '') }
      }
    )
  )
}
