/** Builds the gateway from a configuration: the only file that knows every folder, and their table of contents. */
import fastify, { type FastifyInstance, LogController } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import type { Logger } from 'pino'
import { principals } from './access/principals.ts'
import { recallView } from './advisors/memory-recall.ts'
import { buildChain, buildHeldRunner } from './config/build-chain.ts'
import { buildCompaction } from './config/build-compaction.ts'
import { buildModels } from './config/build-models.ts'
import { type BuiltPlugins, buildPlugins } from './config/build-plugins.ts'
import { buildRemotes } from './config/build-remotes.ts'
import { egressOptions } from './config/egress-options.ts'
import type { LoadedPlugins } from './config/load-plugins.ts'
import type { Mode } from './config/mode.ts'
import type { Config } from './config/schema.ts'
import { chatShapes } from './dialects/openai-chat/shapes.ts'
import { type Egress, guardedDispatchers } from './egress/guarded-dispatchers.ts'
import { auth } from './http/auth.ts'
import { Compactions } from './http/compactions.ts'
import { demoDefinitions, demoSecrets, demoTools } from './http/demo-tools.ts'
import { describeApi } from './http/describe-api.ts'
import { drainOf } from './http/drain.ts'
import { frameworkOptions } from './http/framework-options.ts'
import { groundRules } from './http/ground-rules.ts'
import { closeLeft } from './http/left-turns.ts'
import { LiveTurns } from './http/live-turns.ts'
import { measureRequests } from './http/measure-requests.ts'
import { models as modelsRoutes } from './http/models.ts'
import { openaiChat } from './http/openai-chat.ts'
import { ops } from './http/ops.ts'
import { sessions } from './http/sessions.ts'
import { StreamLogs } from './http/stream-logs.ts'
import { toolCalls } from './http/tool-calls.ts'
import { toolSearchRoute } from './http/tool-search.ts'
import { tools } from './http/tools.ts'
import { turnCancel } from './http/turn-cancel.ts'
import { turnFrames } from './http/turn-frames.ts'
import { turns } from './http/turns.ts'
import { TurnsUnderWay } from './http/turns-under-way.ts'
import type { Stores } from './stores/contracts.ts'
import { openSqlite } from './stores/sqlite/open.ts'
import { sweeper } from './stores/sweeper.ts'
import { openVault } from './stores/vault.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import { type Catalog, catalog } from './tools/catalog.ts'
import { toolBody, toolDefaults } from './tools/definition.ts'
import { validArguments } from './tools/guards/arguments.ts'
import { journal } from './tools/guards/journal.ts'
import { limits } from './tools/guards/limits.ts'
import { type OwnedToolFinder, toolFinder } from './tools/index/finder.ts'
import { type JoinedTools, joinedTools } from './tools/joined-tools.ts'
import { joinedViews } from './tools/joined-views.ts'
import { outputJudge } from './tools/output-judge.ts'
import { version } from './version.ts'

export interface AppOptions {
  readonly mode: Mode
  readonly log: Logger
  /** Where this process listens; asked once it does. */
  readonly ownUrl: () => string
  /** What `loadPlugins` made of `config.plugins`; needed where there are any. */
  readonly plugins?: LoadedPlugins | undefined
}

export interface App {
  readonly fastify: FastifyInstance
  /** `openapi.yaml` as text, once the routes are ready. */
  readonly openapi: () => string
  /** To be called when the gateway listens: what needs its own address is made now. */
  ready(): Promise<void>
  /** No new turns; running ones have `drainMs` to end by themselves, then end with `shutting_down`. */
  drain(drainMs: number): Promise<void>
  /** Ends connections, writes out what is behind, closes the store. */
  close(): Promise<void>
}

/** Rejects when the store cannot be opened (`store_unavailable`), or a tool of the file or a plugin is not right. */
export async function buildApp(config: Config, { mode, log, ownUrl, plugins }: AppOptions): Promise<App> {
  const metrics = createMetrics()
  const allowScript = config.sim.allow_script === 'auto' ? mode.development : config.sim.allow_script
  const { models, close: closeModels } = buildModels(config, { allowScript })
  // Without them a guard would be missing, and nobody would notice.
  if (config.plugins.length > 0 && plugins === undefined) throw new TypeError('The plugins were not loaded.')
  const built = plugins && buildPlugins(config, plugins, { models, log })
  const stores = await openSqlite({
    path: config.store.path,
    synchronous: config.store.synchronous,
    onError: (op, error) => {
      metrics.storeError(op)
      log.error({ event: 'store.error', op, err: error }, 'the store could not be used')
    }
  })
  const gateway = fastifyFor(config, log)
  const egress = egressFor(config, gateway)
  metrics.modelNames(models.list().map(({ id }) => id))
  const finder = finderFor(config, metrics, built)
  const known = await catalogFor(config, { stores, egress, log, metrics, built })
  const attachable: JoinedTools = built ? joinedTools(known, built) : known
  const guards = [...(built?.guards ?? []), limits, validArguments, journal]
  const added = [...buildRemotes(config, { egress, shapes: chatShapes }), ...(built?.advisors ?? [])]
  const parts = { models, sessions: stores.sessions, finder, guards, added, loop: built?.loop }
  const chat = buildChain(config, parts)
  const compacting = buildCompaction(config, { models, sessions: stores.sessions })
  const compactions = compacting && new Compactions({ ...compacting, turns: stores.turns, metrics })
  const underWay = new TurnsUnderWay()
  const drain = drainOf(gateway, {
    end: why => {
      stores.leases.end(why)
      underWay.end(why)
    }
  })

  const secrets = mode.demo ? demoSecrets() : undefined
  const openapi = await describeApi(gateway, { version })
  const judgeOutput = config.chain.turn.includes('structured-output') ? outputJudge : undefined
  const runOpen = buildHeldRunner(config, parts)
  const live = new LiveTurns()
  const onUnknown = ({ turn, tool }: { readonly turn: string; readonly tool: string }) => {
    metrics.callUnknown()
    log.warn(
      { event: 'tool.call', turn_id: turn, tool, outcome: 'unknown' },
      'a call was sent, and its outcome is not known'
    )
  }
  const streams = new StreamLogs(config.stream.resume_keep_ms)
  const services = {
    judgeOutput,
    underWay,
    streams,
    live,
    runOpen,
    onUnknown,
    config,
    mode,
    metrics,
    stores,
    models,
    catalog: attachable,
    finder
  }
  await gateway.register(measureRequests, { metrics })
  await gateway.register(auth, { principals: principalsFor(config, mode), development: mode.development })
  await gateway.register(openaiChat, { ...services, chat, allowScript, compactions })
  await gateway.register(toolCalls, { ...services, run: runOpen })
  await gateway.register(modelsRoutes, { models })
  const shown = attachable === known ? known : joinedViews(known, attachable)
  await gateway.register(tools, { catalog: shown, registration: toolBody })
  await gateway.register(toolSearchRoute, {
    finder,
    catalog: attachable,
    results: resultsOf(config),
    tell: event => metrics.turnEvent(event)
  })
  await gateway.register(sessions, {
    ...{ sessions: stores.sessions, calls: stores.calls, turns: stores.turns, finder, config },
    recall: (key, policy) => recallView(stores.sessions, key, policy)
  })
  await gateway.register(turns, { turns: stores.turns, underWay })
  await gateway.register(turnFrames, { streams, turns: stores.turns, underWay, metrics, config })
  await gateway.register(turnCancel, { stores, underWay, config })
  if (secrets) await gateway.register(demoTools, { secrets })
  await gateway.register(ops, {
    stores,
    metrics: config.telemetry.metrics.enabled ? metrics : undefined,
    metricsAuth: mode.loopback || config.telemetry.metrics.auth === 'none' ? 'none' : 'role:metrics',
    draining: drain.draining,
    openapi
  })

  const sweeps = sweeper(stores, {
    sessionTtlMs: config.memory.ttl_ms,
    runTtlMs: config.audit.retention_days * 86_400_000,
    closeLeft: before => closeLeft({ stores, onUnknown }, { before }),
    log
  })
  return {
    fastify: gateway,
    openapi,
    ready: async () => {
      if (secrets) known.declare(demoDefinitions(ownUrl(), secrets))
    },
    drain: drain.drain,
    close: async () => {
      sweeps.stop()
      await gateway.close()
      await compactions?.close()
      finder.close()
      await Promise.all([closeModels(), egress.close()])
      await stores.close()
    }
  }
}

function fastifyFor(config: Config, log: Logger): FastifyInstance {
  const { body_limit_bytes: bodyLimit, trust_proxy: trustProxy } = config.server
  const app = fastify({
    ...frameworkOptions,
    // Fastify's own word that it listens is not said: `server.listening` is.
    loggerInstance: log.isLevelEnabled('warn') ? log.child({}, { level: 'warn' }) : log,
    // The audit advisor writes one line a turn; two more a request would cost more than the routing.
    logController: new LogController({ disableRequestLogging: true }),
    // A logger of its own for every request costs more than the one line a turn writes, which names the request itself.
    childLoggerFactory: () => log,
    bodyLimit,
    trustProxy,
    // What has not ended by the end of the drain, its turns' last words included, is cut.
    forceCloseConnections: true
  }) as unknown as FastifyInstance
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  groundRules(app)
  return app
}

function egressFor(config: Config, gateway: FastifyInstance): Egress {
  const listening = () => gateway.addresses().filter(each => typeof each === 'object')
  return guardedDispatchers({ ...egressOptions(config), listening })
}

function finderFor({ tool_search: search }: Config, metrics: Metrics, built?: BuiltPlugins): OwnedToolFinder {
  return toolFinder({
    kind: search.index,
    plugged: built?.indexes,
    views: { max: search.views.max, ttlMs: search.views.ttl_ms },
    maxIndexes: search.max_indexes,
    indexMemoryBytes: search.index_memory_bytes,
    onBuild: metrics.indexBuilt,
    onEvict: metrics.viewEvicted,
    onSize: ({ indexes, views }) => {
      metrics.indexes(indexes)
      metrics.views(views)
    }
  })
}

function resultsOf({ tool_search: { max_results: maxResults, max_results_limit: maxResultsLimit } }: Config) {
  return { ...(maxResults !== undefined && { maxResults }), ...(maxResultsLimit !== undefined && { maxResultsLimit }) }
}

interface CatalogParts {
  readonly stores: Stores
  readonly egress: Egress
  readonly log: Logger
  readonly metrics: Metrics
  readonly built: BuiltPlugins | undefined
}

async function catalogFor(config: Config, { stores, egress, log, metrics, built }: CatalogParts): Promise<Catalog> {
  const made = await catalog({
    store: stores.tools,
    vault: await openVault(config.secrets.key_file, { holdsSecrets: (await stores.tools.tenants()).length > 0 }),
    tenants: new Set(['default', ...config.keys.map(({ tenant }) => tenant)]),
    egress,
    reserved: [config.tool_search.tool_name, ...(built?.tools ?? []).map(({ tool }) => tool.name)],
    defaults: toolDefaults.parse(config.tool_defaults),
    log,
    onBlocked: metrics.egressBlocked
  })
  made.declare(config.tools)
  return made
}

function principalsFor({ auth, keys }: Config, { development }: Mode) {
  return principals({ mode: auth.mode, development, adminKey: auth.admin_key, keys })
}
