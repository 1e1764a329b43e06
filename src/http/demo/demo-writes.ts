import { createHash } from 'node:crypto'
import type { DemoTool } from './demo-tool.ts'

const destructive = { destructive: true } as const

const createTicket: DemoTool = {
  name: 'create_ticket',
  description: 'Open a support ticket for a customer',
  properties: {
    title: { type: 'string', maxLength: 200 },
    priority: { type: 'string', enum: ['low', 'normal', 'high'] }
  },
  required: ['title'],
  annotations: destructive,
  answer: ({ title, priority = 'normal' }) => ({
    result: { ticket: numberOf('T', title, priority), title, priority, status: 'open' }
  })
}

const bookFlight: DemoTool = {
  name: 'book_flight',
  description: 'Book a flight for one passenger',
  properties: {
    from: { type: 'string', description: 'City or airport' },
    to: { type: 'string', description: 'City or airport' },
    date: { type: 'string', format: 'date', description: 'YYYY-MM-DD' }
  },
  required: ['from', 'to', 'date'],
  annotations: destructive,
  answer: ({ from, to, date }) => ({ result: { booking: numberOf('F', from, to, date), from, to, date } })
}

/** Nothing is kept, so the same order always has the same number: repeating it is harmless. */
function numberOf(prefix: string, ...parts: readonly unknown[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest()
  return `${prefix}-${digest.readUInt32BE(0) % 1_000_000}`
}

/** Those that would change something in a real shop. */
export const demoWrites: readonly DemoTool[] = [createTicket, bookFlight]
