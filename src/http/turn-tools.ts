import type { Config } from '../config/schema.ts'
import type { Fields, Tool } from '../core/chat.ts'
import type { Principal } from '../core/principal.ts'
import type { TurnOptions } from './turn-options.ts'

/** What the edge needs of the catalog: the same `Map` for the same answer, as indexes are kept by it. */
export interface AttachableTools {
  toolsFor(
    principal: Principal,
    attach?: { readonly allow?: string[]; readonly deny?: string[] }
  ): ReadonlyMap<string, Tool>
  /** Awaited before, where tools come from elsewhere. Never rejects. */
  refresh?(principal: Principal): Promise<void>
}

export interface TurnTools {
  /** What the prompt offers: gateway tools in the order of registration, then the client's. */
  readonly offered: ReadonlyMap<string, Tool>
  /** The gateway's part of it. */
  readonly gateway: ReadonlyMap<string, Tool>
  /** Gateway tools left out because the client declares one of that name. */
  readonly shadowed: readonly string[]
}

const NONE: ReadonlyMap<string, Tool> = new Map()

/** Gateway tools of a request, as far as key, configuration and request allow, and the client's own (contract §3.2). */
export function toolsOf(
  catalog: AttachableTools,
  principal: Principal,
  { attach, options, params, client }: ToolsAsked
): TurnTools {
  const allowed = attachedTools(catalog, principal, { attach, options, params })
  if (client.size === 0) return { offered: allowed, gateway: allowed, shadowed: [] }
  if (allowed.size === 0) return { offered: client, gateway: allowed, shadowed: [] }
  const shadowed = [...client.keys()].filter(name => allowed.has(name))
  const gateway = shadowed.length === 0 ? allowed : new Map([...allowed].filter(([name]) => !client.has(name)))
  return { offered: new Map([...gateway, ...client]), gateway, shadowed }
}

interface ToolsAsked {
  /** `tools_attach` of the configuration. */
  readonly attach: Config['tools_attach']
  readonly options: TurnOptions
  readonly params: Fields
  readonly client: ReadonlyMap<string, Tool>
}

/** `tool_choice: none` means the gateway's tools too (contract §4.2). */
function attachedTools(
  catalog: AttachableTools,
  principal: Principal,
  { attach, options, params }: Omit<ToolsAsked, 'client'>
): ReadonlyMap<string, Tool> {
  if (params.tool_choice === 'none') return NONE
  const { allow, deny } = options.tools ?? {}
  const allowed = allow ?? (attach === 'none' ? [] : undefined)
  if (allowed?.length === 0) return NONE
  if (!allowed && !deny) return catalog.toolsFor(principal)
  return catalog.toolsFor(principal, { ...(allowed && { allow: [...allowed] }), ...(deny && { deny: [...deny] }) })
}
