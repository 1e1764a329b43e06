import { remoteProblems } from '../advisors/remote-admission.ts'
import { egressOptions } from './egress-options.ts'
import type { Config } from './schema.ts'
import { ADVISORS } from './sections/turn.ts'
import type { Wrong } from './wrong.ts'

/** Names of the gateway's own, those of later versions among them: a file that works today works then. */
export const OWN_NAMES: readonly string[] = [
  ...ADVISORS.turn,
  ...ADVISORS.call,
  ...['tool-loop', 'guardrails', 'cache']
]

/** What is wrong with the remote advisors of the file. Each message names the advisor. */
export function advisorProblems(config: Config): Wrong[] {
  const egress = egressOptions(config)
  return config.advisors.flatMap(({ name, url, secret, egress_policy: egressPolicy }, i): Wrong[] => {
    const path = ['advisors', i]
    const broken = remoteProblems({ url, secret, egressPolicy }, egress).map(({ field, message }) => ({
      path: [...path, field],
      message: `${message} (advisor ${name})`
    }))
    if (!OWN_NAMES.includes(name)) return broken
    return [
      { path: [...path, 'name'], message: `${name} is an advisor of the gateway's own; choose another name` },
      ...broken
    ]
  })
}
