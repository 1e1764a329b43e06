import { pino } from 'pino'
import { buildApp } from '../../src/app.ts'
import { readConfig } from '../../src/config/read.ts'

/** The API description of a gateway with all defaults; it keeps its data in `folder` while it is built. */
export async function apiText(folder: string): Promise<string> {
  const { config, mode } = readConfig({ path: undefined, env: {}, cwd: folder })
  const store = { ...config.store, path: `${folder}/loopgate.db` }
  const secrets = { ...config.secrets, key_file: `${folder}/kek` }
  const app = await buildApp({ ...config, store, secrets }, { mode, log: pino({ level: 'silent' }), ownUrl: () => '' })
  try {
    await app.fastify.ready()
    const { body } = await app.fastify.inject({ url: '/openapi.yaml', headers: { host: 'localhost' } })
    return body
  } finally {
    await app.close()
  }
}
