import { GatewayError } from '../core/errors.ts'

/** A finding of the validator, as Fastify hands it over. */
export interface Finding {
  /** `/messages/0/role` */
  readonly instancePath: string
  readonly keyword: string
  readonly message?: string | undefined
  readonly params: Readonly<Record<string, unknown>>
}

interface Issue {
  readonly code?: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
  readonly errors?: readonly (readonly Issue[])[]
}

/** What the schema found in a request, as `invalid_request` naming the first field that is wrong. */
export function invalidInput(findings: readonly Finding[], where: string): GatewayError {
  const [first] = findings
  if (first === undefined) return new GatewayError('invalid_request', `The ${where} of the request is not valid.`)
  const path = first.instancePath.split('/').slice(1).filter(Boolean)
  const {
    path: at,
    message,
    code,
    keys
  } = deepest({
    ...(first.params as Partial<Issue>),
    code: first.keyword,
    path,
    message: first.message ?? 'is not valid'
  })
  if (code === 'unrecognized_keys' && keys) return unknownFields(at, keys)
  const param = spelled(at)
  if (param === '') return new GatewayError('invalid_request', `The ${where} must be a JSON object: ${message}.`)
  return new GatewayError('invalid_request', `${param}: ${message}.`, { param })
}

function unknownFields(at: readonly PropertyKey[], keys: readonly string[]): GatewayError {
  const names = keys.map(key => spelled([...at, key]))
  const [first = ''] = names
  const verb = names.length === 1 ? 'is not a field' : 'are not fields'
  return new GatewayError(
    'invalid_request',
    `${names.join(', ')} ${verb} that exist${names.length === 1 ? 's' : ''}.`,
    {
      param: first
    }
  )
}

/** Of a choice of forms the one that got furthest is what was meant; if none got anywhere, all are named. */
function deepest(issue: Issue): Issue {
  if (issue.code !== 'invalid_union' || !issue.errors?.length) return issue
  const inner = issue.errors.flatMap(([first]) => (first ? [deepest(first)] : []))
  const best = inner.toSorted((a, b) => b.path.length - a.path.length)[0]
  if (best && (best.path.length > 0 || best.code === 'unrecognized_keys')) {
    return { ...best, path: [...issue.path, ...best.path] }
  }
  const messages = [...new Set(inner.map(({ message }) => message.replace(/^Invalid (input|option): /, '')))]
  return { ...issue, code: 'invalid_type', message: `Invalid input: ${messages.join(', or ')}` }
}

function spelled(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (/^\d+$/.test(String(part))) return `${text}[${String(part)}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')
}
