import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { link, readFile, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { GatewayError } from '../core/errors.ts'
import { makeFolder } from './make-folder.ts'

/** What a secret belongs to. A sealed text opens only for the very same owner and field. */
export interface SecretOwner {
  readonly tenant: string
  /** E.g. the tool's name. */
  readonly object: string
}

/** Keeps secrets unreadable in the store (contract §14): AES-256-GCM under a key per tenant. */
export interface Vault {
  /** One text for all fields, safe to store. */
  seal(owner: SecretOwner, fields: Readonly<Record<string, string>>): string
  /** Throws when the text was changed, belongs to another owner, or was sealed under another key file. */
  open(owner: SecretOwner, sealed: string): Readonly<Record<string, string>>
  /** 32 bytes that only this key file gives for this purpose; the same on every start. */
  derive(purpose: string): Buffer
}

/** `k`: the tenant's data key, wrapped by the key file. `f`: field → sealed value. All base64. */
interface Sealed {
  readonly v: 1
  readonly k: string
  readonly f: Readonly<Record<string, string>>
}

/**
 * Opens the key file (32 bytes in base64), or makes it, readable by its owner only. The data keys of tenants are kept
 * inside the sealed texts, so that no table is needed for them and a lost row loses nothing else. Rejects with
 * `store_unavailable`, naming the file, when it cannot be read or made, is no key, or is missing although the store
 * `holdsSecrets` (default false): no other key opens those.
 */
export async function openVault(keyFile: string, { holdsSecrets = false } = {}): Promise<Vault> {
  const master = await readOrMake(keyFile, holdsSecrets)
  // HKDF with SHA-256 and no salt (RFC 5869) in its two steps: the first is the same for all purposes, and a file may
  // have thousands of tools.
  const pseudorandom = createHmac('sha256', Buffer.alloc(32)).update(master).digest()
  const unwrapped = new Map<string, Buffer>()
  const current = new Map<string, { key: Buffer; wrapped: string }>()

  const unwrap = (tenant: string, wrapped: string): Buffer => {
    const known = unwrapped.get(`${tenant}\n${wrapped}`)
    if (known !== undefined) return known
    const key = decrypt(master, wrapped, aad('data-key', tenant))
    unwrapped.set(`${tenant}\n${wrapped}`, key)
    if (!current.has(tenant)) current.set(tenant, { key, wrapped })
    return key
  }

  const keyOf = (tenant: string): { key: Buffer; wrapped: string } => {
    const known = current.get(tenant)
    if (known !== undefined) return known
    const key = randomBytes(32)
    const made = { key, wrapped: encrypt(master, key, aad('data-key', tenant)) }
    current.set(tenant, made)
    unwrapped.set(`${tenant}\n${made.wrapped}`, key)
    return made
  }

  return {
    seal({ tenant, object }, fields) {
      const { key, wrapped } = keyOf(tenant)
      const sealed = Object.entries(fields).map(([field, value]): [string, string] => [
        field,
        encrypt(key, Buffer.from(value), aad('secret', tenant, object, field))
      ])
      return JSON.stringify({ v: 1, k: wrapped, f: Object.fromEntries(sealed) } satisfies Sealed)
    },
    open({ tenant, object }, text) {
      const { k, f } = JSON.parse(text) as Sealed
      const key = unwrap(tenant, k)
      const fields = Object.entries(f).map(([field, value]): [string, string] => [
        field,
        decrypt(key, value, aad('secret', tenant, object, field)).toString()
      ])
      return Object.fromEntries(fields)
    },
    derive: purpose => createHmac('sha256', pseudorandom).update(`loopgate:${purpose}\x01`).digest()
  }
}

async function readOrMake(path: string, holdsSecrets: boolean): Promise<Buffer> {
  const key = await existingKey(path)
  if (key !== undefined) return key
  if (holdsSecrets) {
    throw unusable(
      `The key file ${path} is missing, but the store holds secrets that only its key opens; put the file back, or ` +
        'name it as secrets.key_file.'
    )
  }
  const made = await makeOnce(path).catch((cause: unknown) => {
    throw unusable(`The key file ${path} cannot be made: ${reasonOf(cause)}; name another as secrets.key_file.`, cause)
  })
  return made ?? readOrMake(path, true)
}

async function existingKey(path: string): Promise<Buffer | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unusable(`The key file ${path} cannot be read: ${reasonOf(cause)}.`, cause)
  }
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length === 32) return key
  throw unusable(`The key file ${path} must hold 32 bytes in base64; put the right one back.`)
}

function unusable(sentence: string, cause?: unknown): GatewayError {
  return new GatewayError('store_unavailable', sentence, { ...(cause !== undefined && { cause }) })
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

/** Written beside and linked into place: nobody ever reads half a key, and of two starting at once one wins. */
async function makeOnce(path: string): Promise<Buffer | undefined> {
  makeFolder(dirname(path), { mode: 0o700 })
  const key = randomBytes(32)
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, `${key.toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(draft, path)
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return undefined
  } finally {
    await unlink(draft)
  }
}

/** Names the place of a value, with borders that no part can fake. */
function aad(...parts: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify(parts))
}

function encrypt(key: Buffer, value: Buffer, bound: Buffer): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(bound)
  return Buffer.concat([iv, cipher.update(value), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

function decrypt(key: Buffer, sealed: string, bound: Buffer): Buffer {
  const bytes = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 }).setAAD(bound)
  decipher.setAuthTag(bytes.subarray(-16))
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
}
