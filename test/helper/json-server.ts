import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a server is asked: JSON of any form. */
type Json = ReturnType<typeof JSON.parse>

export interface JsonServer {
  readonly url: string
  close(): void
}

/** A server on loopback that is asked in JSON. `path`: without the slash that it begins with. */
export async function jsonServer(
  answer: (body: Json, response: ServerResponse, path: string) => void
): Promise<JsonServer> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request.setEncoding('utf8')) text += part
    answer(JSON.parse(text), response, (request.url ?? '').slice(1))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  // A gateway that does not start must end the tests, not leave them waiting.
  server.unref()
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}
