import { z } from 'zod'
import { Text } from '../../shapes.ts'

const MOST_CHECKS = 20

const Pattern = Text(1_000).refine(isPattern, 'must be a regular expression')

const ToolNames = z.array(Text(128)).max(100)

/** What an answer must be like. */
export const AnswerCheck = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['contains', 'not_contains']), value: Text(10_000) }),
  z.strictObject({
    type: z.literal('matches'),
    value: Pattern.describe('A regular expression (JavaScript, `u` flag)'),
  }),
  z.strictObject({
    type: z.literal('schema'),
    value: z.record(z.string(), z.unknown()).describe('JSON Schema that the answer must match as JSON'),
  }),
  z.strictObject({ type: z.enum(['max_tokens', 'max_ms']), value: z.int().min(1) }),
  z.strictObject({ type: z.literal('max_cost_usd'), value: z.number().min(0) }),
  z.strictObject({
    type: z.literal('same_tools'),
    value: z
      .union([z.literal(true), ToolNames])
      .default(true)
      .describe('The tools that must be called, in this order. `true`: those of the recorded invocation'),
  }),
  z.strictObject({
    type: z.literal('judge'),
    value: Text(10_000).describe('What a model should check, in words'),
    model: Text(200).optional().describe("The model that judges. Default: the tested version's first model"),
  }),
])
export type AnswerCheck = z.output<typeof AnswerCheck>

export const AnswerChecks = z
  .array(AnswerCheck)
  .max(MOST_CHECKS)
  .describe('What the answer must be like. An answer passes if all checks do')

function isPattern(text: string): boolean {
  try {
    // Only compiled here: it is never run on this thread.
    return new RegExp(text, 'u').unicode
  } catch {
    return false
  }
}
