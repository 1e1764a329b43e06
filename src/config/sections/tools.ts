/** The tools of the file and what they may reach. */
import { z } from 'zod'
import { toolBody, toolDefaults } from '../../tools/definition.ts'

const port = z.int().min(1).max(65_535)

export const toolSections = {
  tools_attach: z
    .enum(['all', 'none'])
    .default('all')
    .describe('Gateway tools of a request that says nothing: all its key may use, or none.'),
  tool_defaults: toolDefaults.prefault({}).describe('Any field of a tool; holds where the tool says nothing.'),
  tools: z
    .array(toolBody.omit({ tenant: true }))
    .max(100_000)
    .default([])
    .describe('Webhook tools, with the fields of POST /v1/tools. They exist in every tenant.'),
  egress: z
    .strictObject({
      policies: z
        .strictObject({
          public: z
            .strictObject({
              allow_http: z.boolean().default(false).describe('Allow http besides https.'),
              ports: z.array(port).default([443]).describe('Ports allowed; [] = any.')
            })
            .prefault({})
            .describe('Public addresses only.'),
          internal: z
            .strictObject({
              allow_http: z.boolean().default(true).describe('Allow http besides https.'),
              allow_private: z.boolean().default(true).describe('Allow private and loopback addresses.'),
              ports: z.array(port).default([]).describe('Ports allowed; [] = any.')
            })
            .prefault({})
            .describe('For tools made by an admin or this file.')
        })
        .prefault({})
        .describe('Named by endpoint.egress_policy of a tool.'),
      deny_cidrs: z
        .array(z.union([z.cidrv4(), z.cidrv6()], 'must be an address range such as 10.1.0.0/16 or fd12::/32'))
        .default([])
        .describe('Address ranges denied under every policy, besides link-local and cloud metadata.')
    })
    .prefault({})
    .describe('Where calls of tools may go.')
}
