import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { LRUCache } from 'lru-cache'
import type { Fields } from '../core/chat.ts'
import { linearPattern } from './linear-pattern.ts'

/** What is wrong with a value, as path and rule; `undefined` = nothing. */
export type SchemaCheck = (value: unknown) => string | undefined

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/
const DRAFT_2020 = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

/** `undefined`: a dialect that is not spoken here. */
export function dialectOf(schema: Fields): '2020-12' | 'draft-07' | undefined {
  const { $schema } = schema
  if ($schema === undefined) return '2020-12'
  if (typeof $schema !== 'string') return undefined
  return DRAFT_2020.test($schema) ? '2020-12' : DRAFT_07.test($schema) ? 'draft-07' : undefined
}

/** What is wrong with the schema itself, by its meta-schema. */
export function schemaComplaint(schema: Fields): string | undefined {
  const judge = metaJudge(dialectOf(schema) ?? '2020-12')
  return judge.validateSchema(schema) === true ? undefined : complaint(judge.errors ?? [])
}

/**
 * A schema ready to check values; kept for the 2,000 used last. Each has an Ajv of its own: in a shared one a foreign
 * `$id` resolves, and no schema is ever let go (`spec/webhooks.md` §4.1). The schema must have been admitted.
 */
export function schemaCheck(schema: Fields): SchemaCheck {
  const known = checks.get(schema)
  if (known !== undefined) return known
  const check = compileOrRefuse(schema)
  checks.set(schema, check)
  return check
}

/** Can values be checked against it at all? Takes more than a millisecond. */
export function isCheckable(schema: Fields): boolean {
  return schemaCheck(schema) !== refuseAll
}

/** What Ajv cannot compile lets nothing through: a check that is left out would be worse. */
function compileOrRefuse(schema: Fields): SchemaCheck {
  try {
    return compile(schema)
  } catch {
    return refuseAll
  }
}

function refuseAll(): string {
  return 'the schema of this tool cannot be used'
}

const checks = new LRUCache<Fields, SchemaCheck>({ max: 2000 })
const metaJudges = new Map<string, Ajv | Ajv2020>()

/** Shared, since it never keeps a schema it judges; compiling a meta-schema takes 10 ms and is done when first asked. */
function metaJudge(dialect: '2020-12' | 'draft-07'): Ajv | Ajv2020 {
  const known = metaJudges.get(dialect)
  if (known !== undefined) return known
  const made = dialect === 'draft-07' ? new Ajv(options) : new Ajv2020(options)
  metaJudges.set(dialect, made)
  return made
}

const options: Options = {
  strict: false,
  logger: false,
  validateFormats: false,
  // Inherited names (`constructor`) are no arguments.
  ownProperties: true,
  // 4.02 is a multiple of 0.01.
  multipleOfPrecision: 9
}

function compile(schema: Fields): SchemaCheck {
  const validate = schemaValidator(schema)
  return value => (validate(value) === true ? undefined : complaint(validate.errors ?? []))
}

export interface ValidatorOptions {
  /** Not only the first. */
  readonly allErrors?: boolean
  /** Code that runs somewhat slower and is made five times faster, for schemas that are soon forgotten. */
  readonly quick?: boolean
  /** Keywords of our own that the schema uses, each with what is run where it stands. */
  readonly keywords?: Readonly<Record<string, () => void>>
}

/** Compiles an admitted schema; throws what Ajv throws. */
export function schemaValidator(
  schema: Fields,
  { allErrors = false, quick = false, keywords = {} }: ValidatorOptions = {}
): ValidateFunction {
  const own: Options = {
    ...options,
    allErrors,
    meta: false,
    validateSchema: false,
    // Inlining multiplies the code of what is referred to often.
    inlineRefs: false,
    code: { regExp: linear, optimize: !quick }
  }
  const ajv = dialectOf(schema) === 'draft-07' ? new Ajv(own) : new Ajv2020(own)
  // Ajv refuses schemas that have a draft-04 `id`; here it is one more unknown keyword.
  ajv.removeKeyword('id')
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: uniqueItems, errors: false })
  for (const [keyword, run] of Object.entries(keywords)) {
    ajv.addKeyword({ keyword, schemaType: 'boolean', errors: false, validate: () => run() === undefined })
  }
  const { $id: _id, $schema: _dialect, ...rest } = schema
  return ajv.compile(rest)
}

const linear = Object.assign((pattern: string) => linearPattern(pattern), { code: 'linearPattern' })

/** Linear in the size of the array, where Ajv's own compares every pair (1.4 s for 8,000 objects). */
function uniqueItems(wanted: boolean, items: readonly unknown[]): boolean {
  return !wanted || new Set(items.map(canonical)).size === items.length
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += `${canonical(item)},`
    return `[${text}]`
  }
  const fields = value as Fields
  for (const key of Object.keys(fields).sort()) text += `${JSON.stringify(key)}:${canonical(fields[key])},`
  return `{${text}}`
}

interface Complaint {
  readonly instancePath: string
  readonly keyword: string
  readonly message?: string
  readonly params: Fields
}

function complaint(errors: readonly Complaint[]): string {
  const [error] = errors
  return error === undefined ? 'the value does not fit' : schemaSentence(error)
}

/** One error of Ajv in words: path and rule. */
export function schemaSentence(error: Complaint): string {
  const { instancePath, keyword, message, params } = error
  const path = instancePath === '' ? '' : `${instancePath} `
  if (keyword === 'uniqueItems') return `${path}must not have the same item twice`
  if (keyword === 'additionalProperties')
    return `${path}must not have the property ${JSON.stringify(params.additionalProperty)}`
  if (keyword === 'enum') return `${path}must be one of ${JSON.stringify(params.allowedValues)}`
  if (keyword === 'const') return `${path}must be ${JSON.stringify(params.allowedValue)}`
  return `${path}${message ?? 'does not fit'}`
}
