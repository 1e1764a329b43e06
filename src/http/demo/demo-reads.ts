import type { DemoTool } from './demo-tool.ts'

const readOnly = { read_only: true } as const

/** Plausible, and the same for the same city: nobody should mistake it for a forecast. */
const getWeather: DemoTool = {
  name: 'get_weather',
  description: 'Current weather of a city: temperature in degrees Celsius and sky',
  properties: { city: { type: 'string', description: 'Name of the city' } },
  required: ['city'],
  annotations: readOnly,
  answer({ city }) {
    const seed = [...String(city).toLowerCase()].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9973, 7)
    const sky = ['clear', 'cloudy', 'rain', 'wind'][seed % 4]
    return { result: { city, temperature_c: (seed % 35) - 5, sky, source: 'demo' } }
  }
}

const RATES: Readonly<Record<string, number>> = { EUR: 1, USD: 1.1, GBP: 0.85, CHF: 0.95, JPY: 160, SEK: 11.2 }
const currency = { type: 'string', enum: Object.keys(RATES) }

const convertCurrency: DemoTool = {
  name: 'convert_currency',
  description: 'Convert an amount of money from one currency to another, at fixed demonstration rates',
  properties: { amount: { type: 'number' }, from: currency, to: currency },
  required: ['amount', 'from', 'to'],
  annotations: readOnly,
  answer({ amount, from, to }) {
    const rate = (RATES[String(to)] ?? 1) / (RATES[String(from)] ?? 1)
    return { result: { amount, from, to, converted: Math.round(Number(amount) * rate * 100) / 100, rate } }
  }
}

const getCurrentTime: DemoTool = {
  name: 'get_current_time',
  description: 'Current date and time in a time zone',
  properties: { time_zone: { type: 'string', description: 'IANA name such as Europe/Berlin; UTC if left out' } },
  required: [],
  annotations: readOnly,
  answer({ time_zone = 'UTC' }, now) {
    try {
      const time = new Intl.DateTimeFormat('sv-SE', {
        ...{ timeZone: String(time_zone), dateStyle: 'short', timeStyle: 'medium' }
      }).format(now)
      return { result: { time_zone, time } }
    } catch {
      return { refused: `There is no time zone ${String(time_zone)}; names look like Europe/Berlin.` }
    }
  }
}

const addDaysToDate: DemoTool = {
  name: 'add_days_to_date',
  description: 'Date that is a number of days after a date',
  properties: { date: { type: 'string', format: 'date', description: 'YYYY-MM-DD' }, days: { type: 'integer' } },
  required: ['date', 'days'],
  annotations: readOnly,
  answer({ date, days }) {
    const start = new Date(`${String(date)}T00:00:00Z`)
    // A day that does not exist either is no date at all or, as 30 February, becomes another one.
    if (Number.isNaN(start.getTime()) || start.toISOString().slice(0, 10) !== date) {
      return { refused: `${String(date)} is not a date; use YYYY-MM-DD and a day that exists.` }
    }
    const end = new Date(start.getTime() + Number(days) * 86_400_000)
    if (Number.isNaN(end.getTime())) return { refused: `${String(days)} days are too many.` }
    return { result: { date, days, result: end.toISOString().slice(0, 10) } }
  }
}

const DOCS = [
  ['Returns', 'Articles can be returned within 30 days if the packaging is unopened.'],
  ['Shipping', 'Orders placed before 14:00 leave the warehouse on the same day.'],
  ['Warranty', 'Devices have a warranty of two years; batteries of six months.'],
  ['Invoices', 'Invoices are sent by mail once the order has left the warehouse.']
] as const

const searchDocs: DemoTool = {
  name: 'search_docs',
  description: 'Search the handbook of the demonstration shop: returns, shipping, warranty, invoices',
  properties: { query: { type: 'string' } },
  required: ['query'],
  annotations: readOnly,
  answer({ query }) {
    const words =
      String(query)
        .toLowerCase()
        .match(/[a-z]{3,}/g) ?? []
    const hits = DOCS.filter(each => words.some(word => each.join(' ').toLowerCase().includes(word.replace(/s$/, ''))))
    return { result: hits.map(([title, text]) => ({ title, text })) }
  }
}

/** Those that change nothing. */
export const demoReads: readonly DemoTool[] = [getWeather, convertCurrency, getCurrentTime, addDaysToDate, searchDocs]
