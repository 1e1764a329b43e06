import type { Model, Turn } from '../../src/core/turn.ts'
import { scripted } from './turn.ts'

const usage = { prompt: 100, completion: 16, total: 116 }
const ran = {
  round: 1,
  index: 0,
  callId: 'c1',
  tool: 'stock_level',
  kind: 'webhook',
  attempts: 1,
  durationMs: 5
} as const

/** A model that tells what a loop of two rounds would, then answers or fails. */
export function looping(end: { text?: string; error?: unknown }): Model & { seen: Turn[] } {
  const model = scripted([
    { ...end, usage },
    { ...end, usage },
    { ...end, usage }
  ])
  const told: Model = turn => {
    const { tell } = turn
    tell({ type: 'round.start', round: 1, offered: ['stock_level'] })
    tell({ type: 'attempt', round: 1, provider: 'up', model: 'big-1', status: 200, durationMs: 3, outcome: 'ok' })
    tell({ type: 'usage', round: 1, provider: 'up', model: 'big-1', usage, estimated: false })
    tell({ type: 'round.end', round: 1, finish: 'calls', calls: 1 })
    tell({ type: 'tool.start', round: 1, callId: 'c1', tool: 'stock_level' })
    tell({ type: 'tool.end', ...ran, status: 'ok', version: 3, webhookId: 'tc_1' })
    tell({ type: 'search', round: 1, index: 'lexical', form: 'keywords', found: ['stock_level'], durationMs: 1 })
    tell({ type: 'revealed', names: ['stock_level'] })
    tell({ type: 'round.start', round: 2, offered: ['stock_level'] })
    tell({ type: 'attempt', round: 2, provider: 'up', model: 'big-1', status: 200, durationMs: 3, outcome: 'ok' })
    tell({ type: 'usage', round: 2, provider: 'up', model: 'big-1', usage, estimated: true })
    tell({ type: 'round.end', round: 2, finish: 'stop', calls: 0 })
    return model(turn)
  }
  return Object.assign(told, { seen: model.seen })
}
