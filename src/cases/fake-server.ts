import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeServer {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string
  /** Cuts every connection. */
  close(): Promise<void>
}

export interface FakeRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Parsed when it is JSON, else the text. */
  readonly body: unknown
}

/** A server on loopback that hands each request on when its body is there. */
export async function fakeServer(
  answer: (request: FakeRequest, response: ServerResponse) => void | Promise<void>
): Promise<FakeServer> {
  const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, (request, response) => {
    response.on('error', () => {})
    void read(request).then(
      body => answer({ path: request.url ?? '/', headers: headersOf(request), body }, response),
      // The gateway went away while it was sending: nothing is left to answer.
      () => response.destroy()
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

async function read(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const text = Buffer.concat(parts).toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
