import { z } from 'zod'
import { configSchema } from '../../src/config/schema.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
}

/** docs/reference/configuration.md: every option with what it takes, its default and its meaning. */
export function configurationPage(): string {
  const root = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' }) as Schema
  const sections = Object.entries(root.properties ?? {}).map(([name, schema]) => section(name, schema, root))
  return `# Configuration

<!-- Written by \`npm run docs\` from src/config/. -->

One YAML file: \`--config\`, else \`LOOPGATE_CONFIG\`, else \`./gateway.yaml\`, else demo mode. \`config/gateway.yaml\` has every
option in its place. \`\${NAME}\`, \`\${NAME:-default}\` and \`\${file:/path}\` are filled in; unknown keys are errors.
\`loopgate check --config FILE\` says what is wrong, all at once, or prints what holds. In the tables \`[]\` stands for each
entry of a list and \`*\` for a name of your own.

${sections.join('\n')}`
}

function section(name: string, schema: Schema, root: Schema): string {
  const isGroup = schema.properties !== undefined
  const rows = isGroup ? innerOf(name, schema) : rowsOf(name, schema, root.required?.includes(name) ?? false)
  return `## ${name}\n\n${schema.description ?? ''}\n\n| option | takes | default | meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

function rowsOf(path: string, schema: Schema, isRequired: boolean): string[] {
  return [rowOf(path, schema, isRequired), ...innerOf(path, schema)]
}

function innerOf(path: string, schema: Schema): string[] {
  const rows: string[] = []
  for (const one of [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) {
    for (const [name, property] of Object.entries(one.properties ?? {})) {
      rows.push(...rowsOf(`${path}.${name}`, property, one.required?.includes(name) ?? false))
    }
    if (one.items !== undefined) rows.push(...innerOf(`${path}[]`, one.items))
    if (typeof one.additionalProperties === 'object') rows.push(...innerOf(`${path}.*`, one.additionalProperties))
  }
  return [...new Set(rows)]
}

function rowOf(path: string, schema: Schema, isRequired: boolean): string {
  const initial = 'default' in schema ? code(schema.default) : isRequired ? '**needed**' : '–'
  const cells = [code(path, false), takes(schema), initial, schema.description ?? '']
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}

function takes(schema: Schema): string {
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  if (choices.length > 0) return [...new Set(choices.map(takes))].join(' or ')
  if (schema.enum !== undefined) return schema.enum.map(value => code(value)).join(', ')
  if ('const' in schema) return code(schema.const)
  if (schema.items !== undefined) return `list of ${takes(schema.items)}`
  if (schema.type === undefined) return 'anything'
  return [schema.type].flat().join(' or ') + bounds(schema)
}

function bounds({ minimum, maximum }: Schema): string {
  const least = minimum === undefined || minimum <= Number.MIN_SAFE_INTEGER ? '' : ` ≥ ${minimum}`
  const most = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? '' : ` ≤ ${maximum}`
  return least + most
}

function code(value: unknown, asJson = true): string {
  return `\`${asJson ? JSON.stringify(value) : value}\``
}
