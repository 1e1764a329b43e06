import { hash } from 'node:crypto'
import type { Searchable } from '../../core/finder.ts'
import { ownParameters } from '../../core/own-parameters.ts'

const digests = new WeakMap<Searchable, string>()

/**
 * A key of what an index over these tools would hold: equal for tools with the same names, descriptions, parameters
 * and groups in the same order. A tool that was seen before is not read again.
 */
export function toolSetKey(tools: readonly Searchable[]): string {
  return hash('sha256', tools.map(digestOf).join(''), 'base64url')
}

function digestOf(tool: Searchable): string {
  const known = digests.get(tool)
  if (known !== undefined) return known
  const { name, description = '', group = '' } = tool
  const digest = hash('sha256', JSON.stringify([name, description, ownParameters(tool) ?? {}, group]), 'base64url')
  digests.set(tool, digest)
  return digest
}
