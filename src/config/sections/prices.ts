/** What models charge. */
import { z } from 'zod'
import { orNull, price } from '../fields.ts'

export const priceSections = {
  prices: z
    .strictObject({
      file: orNull(z.string().min(1)).describe(
        'A file, YAML or JSON, of the same shape as overrides; relative to this file.'
      ),
      overrides: z
        .record(z.string().min(1).max(400), price())
        .default({})
        .describe(
          'Prices by provider/model, else by model, as the provider calls it; they hold over entries of the same name ' +
            'in the file.'
        )
    })
    .prefault({})
    .describe(
      'What models charge, in USD per million tokens. None are built in: without any, costs are not reckoned. A model ' +
        'without a price counts as free.'
    )
}
