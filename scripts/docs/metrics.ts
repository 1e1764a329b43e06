import { Registry } from 'prom-client'
import { series } from '../../src/telemetry/series.ts'

/** docs/reference/metrics.md: every metric with its type and labels. */
export function metricsPage(): string {
  const rows = Object.values(series(new Registry())).map(
    ({ name, type, labelNames, help }) => `| \`${name}\` | ${type} | ${labelNames.join(', ') || '–'} | ${help} |`
  )
  return `# Metrics

<!-- Written by \`npm run docs\` from src/telemetry/series.ts. -->

\`GET /metrics\` is the page for Prometheus. It is open while the gateway listens on loopback only, else it takes a key
with role \`metrics\` (\`telemetry.metrics.auth: none\` opens it). Times are seconds, sizes bytes. Labels are bounded:
\`model\` is a configured name or one an upstream has answered to, \`tool\` a registered name, \`route\` a template; anything
else is \`unknown\`. No label holds a session, a user or a URL.

| name | type | labels | what |
|---|---|---|---|
${rows.join('\n')}
`
}
