/** Why a remote advisor could not be asked, or was not understood. */
export type RemoteFault =
  | 'timeout'
  /** No connection, or one that broke. */
  | 'unreachable'
  | 'egress_blocked'
  /** Another status than 200 and 204. */
  | 'status'
  | 'too_large'
  /** No JSON. */
  | 'unreadable'
  /** JSON of another form than was asked for. */
  | 'wrong_form'

/** What `fail` of the configuration is for. Never holds a text that was sent or came back. */
export class RemoteFailure extends Error {
  override readonly name = 'RemoteFailure'
  readonly fault: RemoteFault
  /** A status, or the field that is wrong. */
  readonly what: string | number | undefined

  constructor(fault: RemoteFault, what?: string | number) {
    super(what === undefined ? fault : `${fault}: ${what}`)
    this.fault = fault
    this.what = what
  }
}
