/** Everything that leaves the gateway to an address a tenant may have named goes through here. */
import { Agent, type Dispatcher } from 'undici'
import { guardedConnector, type Resolve } from './connector.ts'
import { DEMO_POLICY, type Judge, type JudgeOptions, judge, type UrlRefusal } from './judge.ts'

export interface EgressOptions extends JudgeOptions {
  /** Default: the system's resolver. */
  readonly resolve?: Resolve
}

export interface Egress {
  /** Names of the policies, `demo` left out. */
  readonly policies: readonly string[]
  /** What is wrong with a URL by its text alone (contract §6.1); no name is looked up. */
  judgeUrl(url: string, policy: string): UrlRefusal | undefined
  /** The policy's own pool of connections. */
  dispatcher(policy: string): Dispatcher
  /** Lets the requests under way end, for 5 s at most, then cuts them. */
  close(): Promise<void>
}

const CLOSE_MS = 5000
/** Largest answer read (1 MiB) and one read of the socket more, so that the reader's own cap is met first. */
const MAX_RESPONSE_BYTES = 1_114_112

/**
 * One pool of connections for each policy: in a shared one, a connection made under a lax policy would serve a
 * strict one (`spec/webhooks.md` §3.2).
 */
export function guardedDispatchers(options: EgressOptions): Egress {
  const judged: Judge = judge(options)
  const agents = new Map<string, Agent>()
  for (const name of [...Object.keys(options.policies), DEMO_POLICY]) {
    const connect = guardedConnector((address, port) => judged.address(address, port, name), options.resolve)
    agents.set(
      name,
      new Agent({
        connect,
        allowH2: false,
        maxResponseSize: MAX_RESPONSE_BYTES,
        // The caller's absolute deadline is the only bound that a dripping endpoint cannot stretch.
        headersTimeout: 0,
        bodyTimeout: 0
      })
    )
  }
  return {
    policies: Object.keys(options.policies),
    judgeUrl: (url, policy) => judged.url(url, policy),
    dispatcher: policy => {
      const agent = agents.get(policy)
      if (agent === undefined) throw new TypeError(`There is no egress policy named ${policy}.`)
      return agent
    },
    close: async () => {
      const all = [...agents.values()]
      const timer = setTimeout(() => {
        for (const agent of all) agent.destroy().catch(() => {})
      }, CLOSE_MS)
      await Promise.all(all.map(agent => agent.close())).finally(() => clearTimeout(timer))
    }
  }
}
