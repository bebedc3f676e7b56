import { z } from 'zod'

const MAX_RETRIES = 5

/** The JSON with which a run must answer, instead of words. */
export const WantedOutput = z.strictObject({
  schema: z.record(z.string(), z.unknown()).describe('JSON Schema (2020-12, or draft 7 if `$schema` names it)'),
  retries: z
    .int()
    .min(0)
    .max(MAX_RETRIES)
    .describe("How many times to ask the model again, and tell it what is wrong, when its answer doesn't match")
    .default(2),
})
export type WantedOutput = z.output<typeof WantedOutput>

/** The schema for callers that request JSON without a schema. */
export const ANY_OBJECT = { type: 'object' } as const

export function isAnyObject(schema: WantedOutput['schema']): boolean {
  return schema['type'] === 'object' && Object.keys(schema).every((key) => key === 'type' || key === 'title')
}
