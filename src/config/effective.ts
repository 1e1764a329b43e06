import { stringify } from 'yaml'
import type { Config } from './schema.ts'

/** What the mask of a secret looks like. */
const MASK = '***'
/** Keys whose text is a secret, wherever they stand. */
const SECRET = /^(key|admin_key|secret|client_secret|password|token|access_token)$/
/** Headers may carry any secret; names like these are not worth the risk of showing them. */
const SECRET_HEADER = /auth|key|token|secret|cookie|password/i

/** The configuration as it will be used, defaults filled in, as YAML; secrets are shown as `***`. */
export function effectiveYaml(config: Config): string {
  return stringify(shown(config, []), { lineWidth: 0, aliasDuplicateObjects: false })
}

function shown(value: unknown, path: readonly string[]): unknown {
  if (value === undefined) return null
  if (typeof value === 'string') return value !== '' && isSecret(path) ? MASK : value
  if (Array.isArray(value)) return value.map(item => shown(item, path))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shown(inner, [...path, key])]))
}

function isSecret(path: readonly string[]): boolean {
  // What a tool's schema calls its properties is no secret of ours.
  if (path.includes('input_schema') || path.includes('output_schema')) return false
  const key = path.at(-1) ?? ''
  // A plugin may call its secrets anything that sounds like one.
  if (path[0] === 'plugins' && path.includes('options') && SECRET_HEADER.test(key)) return true
  const parent = path.at(-2)
  return SECRET.test(key) || key === 'api_keys' || (parent === 'headers' && SECRET_HEADER.test(key))
}
