const SUFFIXES = ['localhost', 'local', 'internal', 'svc', 'cluster.local', 'home.arpa']

/** What kind of inside name a host is (`spec/webhooks.md` §3.3.1); `undefined` = none. No look-up. */
export function judgeHost(host: string): string | undefined {
  const name = host.toLowerCase().replace(/\.$/, '')
  if (name === '') return 'a host without a name'
  const suffix = SUFFIXES.find(each => name === each || name.endsWith(`.${each}`))
  if (suffix !== undefined) return `a name under .${suffix}`
  return name.includes('.') ? undefined : 'a name without a dot'
}
