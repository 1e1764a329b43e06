import type { Usage } from '../core/chat.ts'
import type { TurnEvent } from '../core/events.ts'
import { children } from './children.ts'
import type { Count } from './family.ts'
import type { KnownNames } from './known-names.ts'
import type { Series } from './series.ts'

type Told<T extends TurnEvent['type']> = Extract<TurnEvent, { type: T }>

/** Counts what is told of turns. Waits for nothing and keeps nothing between two events. */
export function turnEvents(all: Series, models: KnownNames): (event: TurnEvent) => void {
  const attempt = countAttempts(all, models)
  const flight = countFlights(all, models)
  const usage = countUsage(all, models)
  const tool = countTools(all)
  const search = countSearches(all)

  return event => {
    switch (event.type) {
      case 'attempt.start':
        return flight.begin(event)
      case 'attempt':
        flight.end(event)
        return attempt(event)
      case 'usage':
        return usage(event)
      case 'price.missing':
        all.priceMissing.labels(models.label(event.model)).value++
        return
      case 'tool.end':
        return tool(event)
      case 'search':
        return search(event)
      case 'retry': {
        const { provider = 'unknown', model = '', code } = event
        all.retries.labels(provider, models.label(model), code).value++
        return
      }
      case 'limit':
        all.limitHits.labels(event.hit.kind, event.action).value++
        return
      case 'definitions.saved':
        all.tokensSaved.labels().value += event.tokens
        return
      case 'note':
        if (event.note === 'empty_answer') all.upstreamEmpty.labels().value++
    }
  }
}

function countAttempts(all: Series, models: KnownNames): (event: Told<'attempt'>) => void {
  const child = children((provider, model, outcome) => ({
    count: all.upstreamRequests.labels(provider, model, outcome),
    seconds: all.upstreamSeconds.labels(provider, model, outcome),
    firstByte: all.upstreamFirstByte.labels(provider, model, outcome)
  }))
  return event => {
    if (event.outcome === 'ok') models.saw(event.model)
    const { count, seconds, firstByte } = child(event.provider, models.label(event.model), event.outcome)
    count.value++
    seconds.observe(event.durationMs / 1000)
    if (event.firstByteMs !== undefined) firstByte.observe(event.firstByteMs / 1000)
  }
}

/** A model's label may change while a request is under way: it is taken off the line that it was added to. */
function countFlights(all: Series, models: KnownNames) {
  const flying = new Map<string, { readonly line: Count; count: number }>()
  const keyOf = ({ provider, model }: Told<'attempt' | 'attempt.start'>): string => `${provider}\n${model}`
  return {
    begin(event: Told<'attempt.start'>): void {
      const key = keyOf(event)
      let flight = flying.get(key)
      if (flight === undefined) {
        flight = { line: all.inFlight.labels(event.provider, models.label(event.model)), count: 0 }
        flying.set(key, flight)
      }
      flight.count++
      flight.line.value++
    },
    end(event: Told<'attempt'>): void {
      const key = keyOf(event)
      const flight = flying.get(key)
      if (flight === undefined) return
      flight.line.value--
      if (--flight.count === 0) flying.delete(key)
    }
  }
}

function countUsage(all: Series, models: KnownNames): (event: Told<'usage'>) => void {
  const child = children((provider, model, kind) => all.tokens.labels(provider, model, kind))
  const costs = children((provider, model, kind) => all.costMicros.labels(provider, model, kind))
  return ({ provider, model: name, usage, estimated, cost }) => {
    const model = models.label(name)
    for (const [kind, field] of KINDS) {
      const tokens = usage[field]
      if (tokens) child(provider, model, kind).value += tokens
      const micros = field === 'reasoning' ? 0 : cost?.ofKind[field]
      if (micros) costs(provider, model, kind).value += micros
    }
    if (!estimated) return
    all.usageEstimated.labels(provider, model, 'prompt').value++
    all.usageEstimated.labels(provider, model, 'completion').value++
  }
}

const KINDS: readonly (readonly [kind: string, field: Exclude<keyof Usage, 'other' | 'total'>])[] = [
  ['prompt', 'prompt'],
  ['completion', 'completion'],
  ['cached', 'cached'],
  ['cache_write', 'cacheWrite'],
  ['reasoning', 'reasoning']
]

function countTools(all: Series): (event: Told<'tool.end'>) => void {
  const child = children((tool, kind, code) => ({
    count: all.toolCalls.labels(tool, kind, code),
    seconds: all.toolSeconds.labels(tool, kind, code)
  }))
  return event => {
    // A kind is there only when the call was matched to a tool: what a model made up must not become a label.
    const { kind = 'unknown', code = event.status } = event
    const { count, seconds } = child(event.kind ? event.tool : 'unknown', kind, code)
    count.value++
    seconds.observe(event.durationMs / 1000)
  }
}

function countSearches(all: Series): (event: Told<'search'>) => void {
  const child = children((index, form) => ({
    count: all.searches.labels(index, form),
    empty: all.searchesEmpty.labels(index, form),
    seconds: all.searchSeconds.labels(index, form)
  }))
  return event => {
    const { count, empty, seconds } = child(event.index, event.form)
    count.value++
    seconds.observe(event.durationMs / 1000)
    if (event.found.length === 0) empty.value++
  }
}
