import { z } from 'zod'
import { NOT_ONE_LINE, ONE_LINE } from '../../lib/text/text.ts'

const DAY_SECONDS = 86_400
export const DEFAULT_EXPIRY_SECONDS = 7 * DAY_SECONDS

/** How long a person has to decide. */
export const Expiry = z
  .int()
  .min(60)
  .max(365 * DAY_SECONDS)

const Scalar = z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()])
const Scalars = z.array(Scalar).min(1).max(100)

const COMPARISONS = ['equals', 'not_equals', 'in', 'not_in', 'greater_than', 'less_than'] as const

/** Regular expressions aren't supported, because a client could write one that runs forever. */
const ApprovalCondition = z
  .strictObject({
    argument: z
      .string()
      .min(1)
      .max(256)
      .regex(ONE_LINE, NOT_ONE_LINE)
      .describe("An argument's name; `order.amount` is the field `amount` of the argument `order`"),
    equals: Scalar.optional(),
    not_equals: Scalar.optional(),
    in: Scalars.optional(),
    not_in: Scalars.optional(),
    greater_than: z.number().optional(),
    less_than: z.number().optional(),
  })
  .refine(
    (condition) => COMPARISONS.some((name) => condition[name] !== undefined),
    `must have one of ${COMPARISONS.join(', ')}`,
  )
  .describe('True if all its comparisons are true. A value that is not a number matches `greater_than` and `less_than`')
type ApprovalCondition = z.infer<typeof ApprovalCondition>

export const ToolApproval = z
  .union([
    z.enum(['always', 'never']),
    z.strictObject({
      when: z
        .union([z.literal('always'), z.array(ApprovalCondition).min(1).max(20)])
        .describe('`always`, or conditions, of which at least one must be true')
        .default('always'),
      expires_after_seconds: Expiry.nullable().describe("null: the agent's setting").default(null),
    }),
  ])
  .describe('Whether a person must approve a call before it is made')
export type ToolApproval = z.infer<typeof ToolApproval>

/** The agent's own rules for everything that it asks people. */
export const ApprovalRules = z.strictObject({
  self: z.boolean().describe('Whether the key that started a run can also decide for it').default(false),
  expires_after_seconds: Expiry.describe('Rejected automatically after this time if no one has decided').default(
    DEFAULT_EXPIRY_SECONDS,
  ),
})
export type ApprovalRules = z.infer<typeof ApprovalRules>

/** Whether a call with these arguments must be approved. */
export function needsApproval(approval: ToolApproval, args: Record<string, unknown>): boolean {
  if (typeof approval === 'string') return approval === 'always'
  return approval.when === 'always' || approval.when.some((condition) => isTrue(condition, args))
}

function isTrue(condition: ApprovalCondition, args: Record<string, unknown>): boolean {
  const value = valueAt(args, condition.argument)
  const { equals, not_equals, greater_than, less_than, in: among, not_in } = condition
  return (
    (equals === undefined || value === equals) &&
    (not_equals === undefined || value !== not_equals) &&
    (among === undefined || among.some((one) => one === value)) &&
    (not_in === undefined || !not_in.some((one) => one === value)) &&
    // A tool may read a string as a number. A value that can't be compared here must be approved by a person.
    (greater_than === undefined || typeof value !== 'number' || value > greater_than) &&
    (less_than === undefined || typeof value !== 'number' || value < less_than)
  )
}

function valueAt(args: Record<string, unknown>, path: string): unknown {
  let value: unknown = args
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
