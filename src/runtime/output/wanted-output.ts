import { z } from 'zod'

const MAX_RETRIES = 5

/** What a run is to answer with, instead of words: JSON that fits a schema. */
export const WantedOutput = z.strictObject({
  schema: z.record(z.string(), z.unknown()).describe('JSON Schema (2020-12; draft 7 if its `$schema` says so)'),
  retries: z
    .int()
    .min(0)
    .max(MAX_RETRIES)
    .describe('How often the model is shown what is wrong with its answer and asked again')
    .default(2),
})
export type WantedOutput = z.output<typeof WantedOutput>

/** For callers that want JSON and do not say which. */
export const ANY_OBJECT = { type: 'object' } as const

export function isAnyObject(schema: WantedOutput['schema']): boolean {
  return schema['type'] === 'object' && Object.keys(schema).every((key) => key === 'type' || key === 'title')
}
