import type { Head } from './transport.ts'

/** How long the provider asks to wait, in ms: `retry-after-ms`, else `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: Head['headers'], nowMs = Date.now()): number | undefined {
  const ms = Number(single(headers['retry-after-ms']) ?? Number.NaN)
  if (Number.isFinite(ms) && ms >= 0) return ms
  const text = single(headers['retry-after'])
  if (text === undefined) return undefined
  const seconds = Number(text)
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * 1000 : undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

function single(value: string | string[] | undefined): string | undefined {
  const text = (Array.isArray(value) ? value[0] : value)?.trim()
  return text ? text : undefined
}
