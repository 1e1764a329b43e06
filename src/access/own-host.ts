/**
 * May a request to a development server be served (contract §2.1)? Its `Host` must be this machine by a name that no
 * one else can point here, and its `Origin`, if it has one, this very server: a web page that rebinds its own name,
 * or merely runs on the same machine, gets nothing.
 */
export function isOwnHost(host: string | undefined, origin: string | undefined): boolean {
  if (host === undefined || !LOCAL.test(host)) return false
  if (origin === undefined) return true
  const asked = origin.toLowerCase()
  const own = host.toLowerCase()
  return asked === `http://${own}` || asked === `https://${own}`
}

const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i
