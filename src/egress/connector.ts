import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import { EgressRefused } from './egress-refused.ts'

/** Why no connection may go to the address and port; `undefined` = it may. */
export type JudgeAddress = (address: string, port: number) => string | undefined

/** All addresses of a name. Rejects when there is none. */
export type Resolve = (hostname: string) => Promise<readonly { address: string; family: number }[]>

/** From the first look-up to the end of the TLS handshake (contract §6.4). */
const CONNECT_MS = 3000

/** The system's resolver, every address, in its own order. */
export const systemResolve: Resolve = hostname => lookup(hostname, { all: true, order: 'verbatim' })

/**
 * Opens connections only to where `judge` lets them. Literals are judged before anything else, since `net.connect`
 * looks none of them up; a name is refused when any of its addresses is; the address really reached is judged once
 * more before the first byte of TLS or HTTP. Nothing outside can undo this: there is nothing between it and the socket.
 */
export function guardedConnector(judge: JudgeAddress, resolve: Resolve = systemResolve): buildConnector.connector {
  const handshake = buildConnector({ allowH2: false, timeout: CONNECT_MS })
  return (target, callback) => {
    openTcp(target.hostname, portOf(target), judge, resolve).then(
      socket => {
        if (target.protocol !== 'https:') callback(null, socket)
        else handshake({ ...target, httpSocket: socket }, callback)
      },
      (error: Error) => callback(error, null)
    )
  }
}

async function openTcp(hostname: string, port: number, judge: JudgeAddress, resolve: Resolve): Promise<Socket> {
  const until = Date.now() + CONNECT_MS
  const host = hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host) === 0 ? await within(CONNECT_MS, resolve(host)) : [{ address: host, family: isIP(host) }]
  for (const { address } of addresses) {
    const refused = judge(address, port)
    if (refused !== undefined) throw new EgressRefused(refused)
  }
  const socket = await connected(host, port, addresses, until - Date.now())
  const refused = judge(socket.remoteAddress ?? '', port)
  if (refused === undefined) return socket
  socket.destroy()
  throw new EgressRefused(refused)
}

function connected(
  host: string,
  port: number,
  addresses: readonly { address: string; family: number }[],
  timeoutMs: number
): Promise<Socket> {
  const known: LookupFunction = (_name, options, done) => {
    const [first] = addresses
    if (options.all) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connectTcp({
    ...{ host, port, lookup: known, autoSelectFamily: true, highWaterMark: 65_536 },
    ...{ noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }
  })
  const timer = setTimeout(() => socket.destroy(new Error('The connection took too long.')), Math.max(timeoutMs, 1))
  const settle = (): void => {
    clearTimeout(timer)
    socket.off('connect', succeeded).off('error', failed)
  }
  const succeeded = (): void => {
    settle()
    resolve(socket)
  }
  const failed = (error: Error): void => {
    settle()
    reject(error)
  }
  socket.once('connect', succeeded).once('error', failed)
  return promise
}

/** A look-up cannot be called off; its late end is of no interest. */
async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('The look-up took too long.')), timeoutMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

function portOf({ port, protocol }: { port?: string; protocol: string }): number {
  return port ? Number(port) : protocol === 'https:' ? 443 : 80
}
