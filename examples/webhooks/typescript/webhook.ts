/** A tool for Loopgate: how many units of an article are in stock. WEBHOOK_SECRET=whsec_… PORT=9000 node webhook.ts */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { isSigned } from './verify.ts'

const server = createServer(async (request, response) => {
  const body = await buffer(request)
  if (!isSigned(request.headers, body, process.env.WEBHOOK_SECRET ?? '')) return response.writeHead(401).end()
  const { sku } = JSON.parse(body.toString()).data.call.arguments
  const answer = { sku, units: sku === 'BX-1' ? 17 : 0 }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
})
server.listen(Number(process.env.PORT ?? 9000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
