import type { ToolRules } from '../plugins/tool-fault.ts'
import { completeAugment } from '../tools/complete-augment.ts'
import type { Config } from './schema.ts'

/** What the configuration wants of every tool that a plugin defines. */
export function toolRules({ tool_search, tool_defaults }: Config): ToolRules {
  return { reserved: [tool_search.tool_name], augment: completeAugment(tool_defaults.augment) }
}
