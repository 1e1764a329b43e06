/** The configuration file: every option there is, with its meaning, default and bounds. Unknown keys are errors. */
import { z } from 'zod'
import { accessSections } from './sections/access.ts'
import { advisorSections } from './sections/advisors.ts'
import { pluginSections } from './sections/plugins.ts'
import { priceSections } from './sections/prices.ts'
import { processSections } from './sections/process.ts'
import { providerSections } from './sections/providers.ts'
import { toolSections } from './sections/tools.ts'
import { turnSections } from './sections/turn.ts'

const { server, store, secrets, ...otherProcess } = processSections
const { auth, keys } = accessSections

/** Keys as in the file (snake_case). What is `null` or left out there is `undefined` here. */
export const configSchema = z.strictObject({
  version: z.literal(1).default(1).describe('Version of this format.'),
  server,
  store,
  secrets,
  auth,
  ...providerSections,
  ...priceSections,
  ...turnSections,
  ...toolSections,
  ...advisorSections,
  ...pluginSections,
  keys,
  ...otherProcess
})

export type Config = z.output<typeof configSchema>
/** What may stand in the file. */
export type ConfigInput = z.input<typeof configSchema>
