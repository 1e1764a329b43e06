import { randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
let pool = randomBytes(4096)
let used = 0

/** A ULID: 48 bits of milliseconds, 80 random bits, 26 characters of Crockford's base 32. */
export function ulid(nowMs = Date.now()): string {
  let time = ''
  for (let rest = nowMs, n = 0; n < 10; n++, rest = Math.floor(rest / 32)) time = ALPHABET[rest % 32] + time
  return time + randomText(16)
}

/** `length` random characters of base 32 (5 bits each), from the system's generator. */
export function randomText(length: number): string {
  if (used + length > pool.length) {
    // One call for 4 KiB costs what one call for 16 bytes does.
    pool = randomBytes(4096)
    used = 0
  }
  let text = ''
  for (let i = 0; i < length; i++) text += ALPHABET[(pool[used++] ?? 0) & 31]
  return text
}

/** A fresh id of a message: `msg_` and 16 characters. */
export function newMessageId(): string {
  return `msg_${randomText(16)}`
}
