import { join } from 'node:path'
import { stringify } from 'yaml'

/** What the load comes with. */
export const BENCH_KEY = 'sk-bench-0123456789'

/** What a deployment has switched on by default: a key, limits, metrics, the log. YAML; `store` is the database's file. */
export function benchConfig(upstream: string, folder: string, store = join(folder, 'loopgate.db')): string {
  return stringify({
    store: { path: store },
    secrets: { key_file: join(folder, 'kek') },
    keys: [{ id: 'bench', key: BENCH_KEY }],
    default_model: 'bench',
    providers: [
      { name: 'up', kind: 'openai', base_url: `${upstream}/v1`, api_keys: ['sk-upstream'], models: ['bench'] }
    ],
    tools_attach: 'none',
    tools: [
      {
        name: 'get_weather',
        description: 'Weather of a city',
        input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        endpoint: { url: `${upstream}/hook`, egress_policy: 'internal' }
      }
    ]
  })
}
