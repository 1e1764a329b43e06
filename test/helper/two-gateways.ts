import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Gateway, startGateway } from '../../src/cases/gateway.ts'

/** A gateway with webhook tools whose upstream is a second gateway process with the model simulator. */
export interface TwoGateways {
  readonly front: Gateway
  /** Bodies that the tools were called with, in order of arrival. */
  readonly toolCalls: ToolCallBody[]
  stop(): Promise<void>
}

interface ToolCallBody {
  readonly data: { readonly call: { readonly tool: string; readonly arguments: unknown } }
}

const tool = (name: string, description: string, property: string, url: string) => ({
  name,
  description,
  input_schema: { type: 'object', properties: { [property]: { type: 'string' } }, required: [property] },
  endpoint: { url: `${url}/${name}`, egress_policy: 'internal' },
  annotations: { read_only: true }
})

/** Starts both, over real sockets; the tools are `get_weather`, `stock_level` and enough others to search among. */
export async function twoGateways(): Promise<TwoGateways> {
  const toolCalls: ToolCallBody[] = []
  const webhooks = createServer(async (request, response) => {
    let text = ''
    for await (const part of request.setEncoding('utf8')) text += part
    toolCalls.push(JSON.parse(text))
    response.setHeader('content-type', 'application/json')
    response.end(request.url === '/get_weather' ? '{"celsius":21}' : '{"units":17}')
  })
  const url = await listening(webhooks)
  const upstream = await startGateway({ config: { default_model: 'sim' } })
  const front = await startGateway({
    config: {
      default_model: 'sim',
      providers: [{ name: 'upstream', kind: 'openai', base_url: `${upstream.url}/v1`, models: ['sim'] }],
      tools: [
        tool('get_weather', 'Current weather of a city', 'city', url),
        tool('stock_level', 'Units of an article in the warehouse', 'sku', url),
        ...[...'abcdefghijklmnopqrst'].map(letter =>
          tool(`archive_${letter}`, `Opens drawer ${letter} of the archive`, 'drawer', url)
        )
      ]
    }
  })
  const stop = async () => {
    await Promise.all([front.stop(), upstream.stop()])
    webhooks.closeAllConnections()
    await new Promise(resolve => webhooks.close(resolve))
  }
  return { front, toolCalls, stop }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
