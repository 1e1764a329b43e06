import type { FileAdmissionOptions } from '../tools/file-admission.ts'
import type { Config } from './schema.ts'

/** The rules of where calls may go, for those who check URLs at boot and for those who connect. */
export function egressOptions({ egress, server }: Pick<Config, 'egress' | 'server'>): FileAdmissionOptions['egress'] {
  const policies = Object.fromEntries(
    Object.entries(egress.policies).map(([name, policy]) => [
      name,
      {
        allowHttp: policy.allow_http,
        allowPrivate: 'allow_private' in policy && policy.allow_private,
        ports: policy.ports
      }
    ])
  )
  return { policies, denyCidrs: egress.deny_cidrs, publicUrl: server.public_url }
}
