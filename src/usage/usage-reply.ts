import { z } from 'zod'
import { DOORS } from '../operation/door.ts'
import { PURPOSES } from '../operation/spending.ts'
import { CostUsd, Label, Time, TimeInput } from '../shapes.ts'

/** The groups by which usage can be summed, and their columns. */
export const GROUPS = {
  project: 'project_id',
  agent: 'agent_id',
  version: 'version',
  environment: 'environment',
  key: 'key_id',
  person: 'person_id',
  user: 'user_id',
  door: 'door',
  model: 'model',
  purpose: 'purpose',
} as const

export type Group = keyof typeof GROUPS
const GROUP_NAMES = Object.keys(GROUPS).join(', ')

const id = (what: string) => Label(500).optional().describe(`Only usage ${what}`)

export const UsageFilter = {
  agent_id: id('of this agent (ID or name)'),
  version: id('of this version'),
  environment: id('of this environment'),
  key_id: id('with this key'),
  person_id: id('by this person'),
  user_id: id('for this user'),
  request_id: id('of this invocation'),
  model: id('of this model'),
  door: z.enum(DOORS).optional().describe('Only usage through this channel'),
  purpose: z.enum(PURPOSES).optional().describe('Only usage for this purpose'),
}

export const UsageQuery = z.strictObject({
  group_by: z
    .string()
    .default('')
    .transform((text) => (text === '' ? [] : text.split(',')))
    .refine(
      (names) => names.every((name) => Object.hasOwn(GROUPS, name)),
      `must be one or more of ${GROUP_NAMES}, separated by commas`,
    )
    .transform((names) => [...new Set(names as Group[])])
    .meta({ examples: ['model,agent'] })
    .describe(
      `One or more of ${Object.keys(GROUPS)
        .map((name) => `\`${name}\``)
        .join(', ')}, separated by commas. Default: one sum of everything`,
    ),
  from: TimeInput.optional().describe('Default: 30 days before `to`'),
  to: TimeInput.optional().describe('Default: now'),
  granularity: z.enum(['hour', 'day', 'month']).optional().describe('Default: one sum for the whole range'),
  timezone: Label(100).default('UTC').describe('The time zone of days and months, such as `Europe/Berlin`'),
  scope: z
    .enum(['project', 'service'])
    .default('project')
    .describe('`service`: all projects; requires a key with access to all projects'),
  ...UsageFilter,
  format: z.enum(['json', 'csv']).optional().describe('`csv` has the same effect as `Accept: text/csv`'),
})

const Sums = {
  calls: z.int().describe('Calls of models and embedders'),
  input_tokens: z.int(),
  cached_tokens: z.int().describe("Part of the input, read from the provider's cache"),
  cache_write_tokens: z.int().describe("Part of the input, written to the provider's cache"),
  output_tokens: z.int(),
  reasoning_tokens: z.int().describe('Part of the output'),
  total_tokens: z.int(),
  cost_usd: CostUsd.describe('In US dollars; null if a call has no known price'),
  priced_cost_usd: z.number().describe('Cost of the calls with a known price'),
  unpriced_calls: z.int().describe('Calls without a known price'),
  lost_calls: z
    .int()
    .describe('Calls under a budget whose node stopped. They are counted with the most they could have used'),
}

const named = (what: string) => z.string().nullable().optional().describe(what)

const UsageRow = z
  .object({
    time: Time.optional().describe('The start of the hour, day or month'),
    project_id: named('Present if `group_by` contains `project`; likewise for the fields below. null: no project'),
    agent_id: named('null: no agent, as in provider tests'),
    version: named('null: the draft'),
    environment: z.string().nullable().optional(),
    key_id: named('null: a token, or a command on the server'),
    person_id: z.string().nullable().optional(),
    user_id: z.string().nullable().optional(),
    door: named('null: the service itself, in the background'),
    model: z.string().optional(),
    purpose: z.enum(PURPOSES).optional(),
    ...Sums,
  })
  .meta({ id: 'UsageRow' })

export const UsageReply = z
  .object({
    from: Time.describe('Rounded down to the hour, or to `granularity`'),
    to: Time.describe('Rounded up'),
    timezone: z.string(),
    totals: z.object(Sums),
    rows: z.array(UsageRow).describe('Sorted by time, then by the grouped fields'),
  })
  .meta({ id: 'Usage' })

export type UsageReply = z.input<typeof UsageReply>
