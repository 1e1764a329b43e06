/** Reads one metric of a gateway: the sum over all its label sets, 0 when it is not there (yet). */
export function metricSum(page: string, name: string): number {
  let sum = 0
  for (const line of page.split('\n')) {
    if (!line.startsWith(name) || !/[{ ]/.test(line.charAt(name.length))) continue
    sum += Number(line.slice(line.lastIndexOf(' ') + 1))
  }
  return sum
}

/** The metrics page of a gateway. */
export async function metricsOf(url: string): Promise<string> {
  const response = await fetch(`${url}/metrics`)
  if (!response.ok) throw new Error(`GET /metrics answered ${response.status}`)
  return response.text()
}
