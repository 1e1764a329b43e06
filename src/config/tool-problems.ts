import { defaultAugmentProblem } from '../tools/default-problem.ts'
import { fileToolProblems } from '../tools/file-admission.ts'
import { egressOptions } from './egress-options.ts'
import type { Config } from './schema.ts'
import type { Wrong } from './wrong.ts'

/** What the tools of the file break: the rules of every registration, and one name twice (case ignored). */
export function toolProblems(config: Config): Wrong[] {
  const { tools, tool_defaults, tool_search } = config
  const ofDefaults = defaultAugmentProblem(tool_defaults)
  const problems = fileToolProblems(tools, {
    egress: egressOptions(config),
    reserved: [tool_search.tool_name],
    // Once is enough: every tool that takes them over would say the same.
    defaults: ofDefaults === undefined ? tool_defaults : { ...tool_defaults, augment: [] }
  })
  const broken = problems.map(({ index, param, message }) => ({
    path: ['tools', index, ...(param === '' ? [] : param.split('.'))],
    message
  }))
  const first = new Map<string, number>()
  const twice = tools.flatMap(({ name }, i): Wrong[] => {
    const earlier = first.get(name.toLowerCase())
    if (earlier === undefined) first.set(name.toLowerCase(), i)
    return earlier === undefined
      ? []
      : [{ path: ['tools', i, 'name'], message: `is the name of tools[${earlier}] too; each must have its own` }]
  })
  const defaults = ofDefaults === undefined ? [] : [{ path: ['tool_defaults', 'augment'], message: ofDefaults }]
  return [...defaults, ...broken, ...twice]
}
