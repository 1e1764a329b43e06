import { type JudgeOptions, judge } from '../egress/judge.ts'
import { isSigningSecret } from '../egress/signing.ts'

export interface DeclaredRemote {
  readonly url: string
  readonly secret: string | undefined
  readonly egressPolicy: string
}

export interface RemoteProblem {
  readonly field: 'url' | 'secret' | 'egress_policy'
  /** Goes on after the name of the field. */
  readonly message: string
}

/** What is wrong with a remote advisor, before anything is started: its secret, its egress policy, its URL under it. */
export function remoteProblems(
  { url, secret, egressPolicy }: DeclaredRemote,
  egress: Omit<JudgeOptions, 'listening'>
): RemoteProblem[] {
  const problems: RemoteProblem[] = []
  if (secret === undefined) problems.push({ field: 'secret', message: 'is missing; what it is sent must be signed' })
  else if (!isSigningSecret(secret)) {
    problems.push({ field: 'secret', message: 'must be whsec_ and 24 to 64 bytes in base64' })
  }
  const policies = Object.keys(egress.policies)
  if (!policies.includes(egressPolicy)) {
    const message = `there is no egress policy named ${egressPolicy}; known are ${policies.join(', ')}`
    return [...problems, { field: 'egress_policy', message }]
  }
  const refusal = judge(egress).url(url, egressPolicy)
  return refusal ? [...problems, { field: 'url', message: refusal.message }] : problems
}
