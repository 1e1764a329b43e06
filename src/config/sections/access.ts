/** Who may use the gateway, and for what. */
import { z } from 'zod'
import { nameText, orNull, textOrNull } from '../fields.ts'

/** What can stand in a header without doubt about its encoding, and is too long to guess. */
const KEY_TEXT = /^[\x21-\x7e]{16,512}$/
const KEY_RULE = 'must be 16 to 512 visible ASCII characters'
const globs = z.array(z.string().min(1).max(256))

const key = z
  .strictObject({
    id: nameText().describe('Names the key in sessions, run views and logs; unique.'),
    key: textOrNull().describe('The key itself, 16 to 512 visible ASCII characters; better from "${NAME}".'),
    key_sha256: orNull(
      z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits: the SHA-256 of the key')
    ).describe('The SHA-256 of the key in hexadecimal digits, so that the key need not stand here.'),
    tenant: nameText().default('default').describe('Sessions and tools of other tenants are not there for it.'),
    roles: z
      .array(nameText())
      .default(['chat'])
      .describe('chat, tool-admin, metrics, admin, or words of your own (allow_roles of a tool).'),
    models: globs.default(['*']).describe('Models it may ask for; globs.'),
    tools: z
      .strictObject({
        allow: globs.default(['*']).describe('Tools it may use; globs.'),
        deny: globs.default([]).describe('Tools it may not use; holds over allow.')
      })
      .prefault({})
      .describe('Tools that are not allowed are never shown, found or named to it.')
  })
  .refine(({ key }) => key === undefined || KEY_TEXT.test(key), {
    path: ['key'],
    message: KEY_RULE
  })

export const accessSections = {
  auth: z
    .strictObject({
      mode: z
        .enum(['auto', 'keys', 'none'])
        .default('auto')
        .describe(
          'keys: a key is needed. none: without a key one may chat. auto: open on loopback while no key exists, else keys.'
        ),
      admin_key: textOrNull()
        .refine(key => key === undefined || KEY_TEXT.test(key), KEY_RULE)
        .describe('A key with every role, in tenant default.')
    })
    .prefault({})
    .describe('Whether and how clients prove who they are.'),
  keys: z.array(key).max(100_000).default([]).describe('Keys of clients.')
}
