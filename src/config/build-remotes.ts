import { remote } from '../advisors/remote.ts'
import { consultation, type RemoteServices } from '../advisors/remote-consult.ts'
import type { Advisor } from '../core/turn.ts'
import { usageOf } from '../providers/openai/usage.ts'
import type { Config } from './schema.ts'

/** The remote advisors of the section `advisors`, for the lists of `chain` to name. */
export function buildRemotes(
  { advisors, chain }: Pick<Config, 'advisors' | 'chain'>,
  services: Omit<RemoteServices, 'decodeUsage'>
): Advisor[] {
  const metered = chain.call.slice(chain.call.indexOf('meter') + 1)
  return advisors.map(({ name, url, secret, on, fail, timeout_ms: timeoutMs, egress_policy: egressPolicy }) => {
    // The configuration was checked before it came here.
    if (secret === undefined) throw new TypeError(`The advisor ${name} has no secret.`)
    const endpoint = { url, secret, timeoutMs, egressPolicy }
    const consult = consultation(endpoint, { ...services, decodeUsage: usageOf })
    return remote({ name, on, fail, consult, isMetered: metered.includes(name) })
  })
}
