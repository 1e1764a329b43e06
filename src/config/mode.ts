import type { Config } from './schema.ts'

/** Decided once at the start and kept until the end of the process (contract §2.1). */
export interface Mode {
  /** No key exists and only loopback is listened to: every request is `dev`, and strange hosts are refused. */
  readonly development: boolean
  /** Are the demo tools served and registered? */
  readonly demo: boolean
  /** Is the listening address of this machine only? */
  readonly loopback: boolean
}

/** What the configuration makes of this process. */
export function modeOf({ auth, keys, server, demo }: Config): Mode {
  const loopback = isLoopback(server.host)
  const development = auth.mode === 'auto' && loopback && keys.length === 0 && auth.admin_key === undefined
  return { development, demo: demo.enabled === 'auto' ? development : demo.enabled, loopback }
}

/** Why the gateway refuses to start: it would stand open on a network. Absent when it does not. */
export function openToAll({ auth, keys, server }: Config): string | undefined {
  if (auth.mode !== 'auto' || keys.length > 0 || auth.admin_key !== undefined || isLoopback(server.host))
    return undefined
  return (
    `${server.host} is not a loopback address and there is no key: declare keys, set LOOPGATE_ADMIN_KEY, ` +
    'listen on 127.0.0.1, or set auth.mode to none if anybody may chat'
  )
}

/** `localhost` counts: a machine on which it means something else has other worries. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}
