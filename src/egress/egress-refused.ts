/** The guard let nothing through: no connection was used. The reason is for the operator's log, never for a tenant. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused'
  readonly code = 'EGRESS_REFUSED'
}
