/**
 * A process of its own, and what all is compared with: node:http in front, undici's `Pool.dispatch` behind, bytes
 * passed on unread. `node bare-proxy.ts <upstream url>`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'

const pool = new Pool(process.argv[2] ?? '', { connections: 256, bodyTimeout: 0, headersTimeout: 0 })
const headers = { 'content-type': 'application/json', authorization: 'Bearer bench' }

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => forward(request, response, parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)))
})

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const onDrain = (controller: Dispatcher.DispatchController) => response.once('drain', () => controller.resume())
  pool.dispatch(
    { path: request.url ?? '/', method: 'POST', headers, body },
    {
      onRequestStart() {},
      onResponseStart(_controller, status, answered) {
        const passed: Record<string, string> = {}
        for (const name of ['content-type', 'content-length']) {
          const value = answered[name]
          if (typeof value === 'string') passed[name] = value
        }
        response.writeHead(status, passed)
      },
      onResponseData(controller, data) {
        if (response.write(data)) return
        controller.pause()
        onDrain(controller)
      },
      onResponseEnd() {
        response.end()
      },
      onResponseError(_controller, error) {
        response.destroy(error)
      }
    }
  )
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number }
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})
