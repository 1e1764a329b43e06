/** Advisors that are not part of the gateway. */
import { z } from 'zod'
import { ms, nameText, textOrNull } from '../fields.ts'

export const advisorSections = {
  advisors: z
    .array(
      z.strictObject({
        name: nameText().describe('Stands in chain.turn or chain.call, where it is asked.'),
        type: z.literal('remote').default('remote').describe('A webhook of yours; the only type.'),
        places: z
          .array(z.enum(['turn', 'call']))
          .min(1)
          .default(['turn'])
          .describe('Lists of chain it may stand in. turn: asked once a turn. call: asked every round.'),
        url: z.string().min(1).describe('Where it is asked, by POST; https and port 443 under egress policy public.'),
        secret: textOrNull().describe('Signs what it is sent: whsec_ and 24 to 64 bytes in base64. It must be there.'),
        on: z
          .array(z.enum(['request', 'response']))
          .min(1)
          .default(['request', 'response'])
          .describe('request: before the model is asked. response: after; nothing is shown to the client until then.'),
        timeout_ms: ms(1, 120_000).default(2000).describe('Time for one exchange, all in all.'),
        fail: z
          .enum(['open', 'closed'])
          .default('open')
          .describe('When it cannot be asked. open: go on, with a note. closed: the turn fails.'),
        egress_policy: z.string().min(1).default('public').describe('Where it may be: public, or internal.')
      })
    )
    .max(100)
    .default([])
    .describe('Remote advisors: webhooks that see, change or refuse requests and answers. chain says where.')
}
