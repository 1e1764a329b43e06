/** What the process itself needs: where it listens, where it keeps things, what it says. */
import { z } from 'zod'
import { ms, orNull, plainUrl } from '../fields.ts'

export const processSections = {
  server: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default('127.0.0.1')
        .describe('Address to listen on; 0.0.0.0 or :: = all, which needs a key (auth).'),
      port: z.int().min(0).max(65_535).default(8080).describe('TCP port; 0 = any free one.'),
      public_url: orNull(plainUrl()).describe(
        'The URL clients reach the gateway at when it is not the listening address. Tools may not call it.'
      ),
      body_limit_bytes: z
        .int()
        .min(1024)
        .max(1_073_741_824)
        .default(4_194_304)
        .describe('Largest request body; a longer one is answered 413.'),
      trust_proxy: z
        .boolean()
        .default(false)
        .describe("Take the client's address and scheme from X-Forwarded-* headers of the proxy in front."),
      drain_ms: ms(0, 3_600_000)
        .default(30_000)
        .describe('How long running turns may go on after SIGTERM; then they are cut.')
    })
    .prefault({})
    .describe('The listening server. A change needs a restart.'),
  store: z
    .strictObject({
      kind: z.enum(['sqlite']).default('sqlite').describe('The store engine.'),
      path: z
        .string()
        .min(1)
        .default('./data/loopgate.db')
        .describe('Database file, seen from the working directory; made when it is not there.'),
      synchronous: z
        .enum(['full', 'normal'])
        .default('full')
        .describe('full: what was acknowledged survives a power cut. normal: only a crash of the process.')
    })
    .prefault({})
    .describe('Where sessions, turns and registered tools are kept. A change needs a restart.'),
  secrets: z
    .strictObject({
      key_file: z
        .string()
        .min(1)
        .default('./data/kek')
        .describe('Key that wraps all stored secrets; made on first start. Keep it apart from the database.')
    })
    .prefault({})
    .describe('Secrets of tools are kept encrypted.'),
  audit: z
    .strictObject({
      retention_days: z.int().min(1).max(3650).default(90).describe('How long run views (without texts) are kept.')
    })
    .prefault({})
    .describe('The record of what turns did.'),
  telemetry: z
    .strictObject({
      metrics: z
        .strictObject({
          enabled: z.boolean().default(true).describe('Serve GET /metrics (Prometheus).'),
          auth: z
            .enum(['auto', 'none'])
            .default('auto')
            .describe('auto: open while the server listens on loopback, else role metrics. none: open.')
        })
        .prefault({})
        .describe('Prometheus metrics.')
    })
    .prefault({})
    .describe('What others may watch.'),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .default('info')
        .describe('Least level written. JSON lines on stdout; never prompts, arguments, results or keys.')
    })
    .prefault({})
    .describe('The log.'),
  demo: z
    .strictObject({
      enabled: z
        .literal(['auto', true, false])
        .default('auto')
        .describe('Serve and register the demo tools under /demo/tools/. auto: in development mode only.')
    })
    .prefault({})
    .describe('The demo tools.'),
  sim: z
    .strictObject({
      allow_script: z
        .literal(['auto', true, false])
        .default('auto')
        .describe('Requests may script the model sim-script (loopgate.script). auto: in development mode only.'),
      script_file: orNull(z.string().min(1)).describe(
        'JSON file with the script that sim-script plays when the request brings none.'
      )
    })
    .prefault({})
    .describe('The built-in model simulator.')
}
