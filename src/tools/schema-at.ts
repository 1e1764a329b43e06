import type { Fields } from '../core/chat.ts'

/** What a reference into the schema itself (`#`, `#/…`) names; `undefined` when there is nothing. */
export function schemaAt(root: Fields, ref: string): unknown {
  if (ref === '#') return root
  let found: unknown = root
  for (const part of ref.slice(2).split('/')) {
    const key = pointerKey(part)
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, key) ? Reflect.get(found, key) : undefined
  }
  return found
}

function pointerKey(part: string): string {
  const pointer = part.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(pointer)
  } catch {
    return pointer
  }
}
