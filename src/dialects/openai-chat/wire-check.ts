import { isFields } from '../../core/is-fields.ts'
import type { WireMessage } from './body.ts'
import { wrongField } from './wrong-field.ts'

const ROLES: readonly unknown[] = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

/**
 * Messages that came from somewhere other than a validated request, held to what the decoder relies on. Throws
 * `invalid_request` naming the first field that is not right. An empty list is refused.
 */
export function checkMessages(wire: unknown, path: string): readonly WireMessage[] {
  if (!Array.isArray(wire) || wire.length === 0) throw wrongField(path, 'must be a list of messages')
  for (const [at, message] of wire.entries()) checkMessage(message, `${path}[${at}]`)
  return wire
}

function checkMessage(message: unknown, path: string): void {
  if (!isFields(message)) throw wrongField(path, 'must be an object')
  const { role, content, tool_calls: calls, function_call: call, tool_call_id: id, name } = message
  if (!ROLES.includes(role)) throw wrongField(`${path}.role`, 'must be a role')
  checkContent(content, `${path}.content`)
  if (!isText(id)) throw wrongField(`${path}.tool_call_id`, 'must be text')
  if (!isText(name)) throw wrongField(`${path}.name`, 'must be text')
  if (!isAbsent(call)) checkFunction(call, `${path}.function_call`)
  if (isAbsent(calls)) return
  if (!Array.isArray(calls)) throw wrongField(`${path}.tool_calls`, 'must be a list')
  for (const [at, each] of calls.entries()) checkCall(each, `${path}.tool_calls[${at}]`)
}

function checkContent(content: unknown, path: string): void {
  if (isText(content)) return
  const isParts = Array.isArray(content) && content.every(part => isFields(part) && typeof part.type === 'string')
  if (!isParts) throw wrongField(path, 'must be text or a list of parts')
}

function checkCall(call: unknown, path: string): void {
  if (!isFields(call)) throw wrongField(path, 'must be an object')
  if (typeof call.id !== 'string') throw wrongField(`${path}.id`, 'must be text')
  if (!isAbsent(call.function)) checkFunction(call.function, `${path}.function`)
}

function checkFunction(call: unknown, path: string): void {
  if (!isFields(call) || typeof call.name !== 'string') throw wrongField(path, 'must have a name')
}

function isText(value: unknown): boolean {
  return isAbsent(value) || typeof value === 'string'
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}
