import { z } from 'zod'
import { DOORS } from '../operation/door.ts'
import { PURPOSES } from '../operation/spending.ts'
import { CostUsd, Label, Time, TimeInput } from '../shapes.ts'

/** By what usage can be told apart, and the column that says it. */
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

const id = (what: string) => Label(500).optional().describe(`Only ${what}`)

export const UsageFilter = {
  agent_id: id('of this agent, by its id or name'),
  version: id('of this version'),
  environment: id('of this environment'),
  key_id: id('with this key'),
  person_id: id('by this person'),
  user_id: id('for this user'),
  request_id: id('of this invocation'),
  model: id('of this model'),
  door: z.enum(DOORS).optional().describe('Only through this door'),
  purpose: z.enum(PURPOSES).optional().describe('Only for this purpose'),
}

export const UsageQuery = z.strictObject({
  group_by: z
    .string()
    .default('')
    .transform((text) => (text === '' ? [] : text.split(',')))
    .refine((names) => names.every((name) => Object.hasOwn(GROUPS, name)), `must be of ${GROUP_NAMES}, with commas`)
    .transform((names) => [...new Set(names as Group[])])
    .meta({ examples: ['model,agent'] })
    .describe(`One or several of ${GROUP_NAMES}, with commas; without it, everything is one sum`),
  from: TimeInput.optional().describe('Default: 30 days before `to`'),
  to: TimeInput.optional().describe('Default: now'),
  granularity: z.enum(['hour', 'day', 'month']).optional().describe('Without it, the range is one sum'),
  timezone: Label(100).default('UTC').describe('Whose days and months are meant, such as `Europe/Berlin`'),
  scope: z
    .enum(['project', 'service'])
    .default('project')
    .describe('`service`: of all projects; takes a key of all projects'),
  ...UsageFilter,
  format: z.enum(['json', 'csv']).optional().describe('`csv` is the same as `Accept: text/csv`'),
})

const Sums = {
  calls: z.int().describe('Calls of models and embedders'),
  input_tokens: z.int(),
  cached_tokens: z.int().describe('Part of the input'),
  output_tokens: z.int(),
  reasoning_tokens: z.int().describe('Part of the output'),
  total_tokens: z.int(),
  cost_usd: CostUsd.describe('In US dollars; null if one of the calls has no known price'),
  priced_cost_usd: z.number().describe('Of the calls whose price is known'),
  unpriced_calls: z.int().describe('Calls whose price is not known'),
  lost_calls: z
    .int()
    .describe('Calls under a budget whose node died. They count with the most that they may have used'),
}

const named = (what: string) => z.string().nullable().optional().describe(what)

const UsageRow = z
  .object({
    time: Time.optional().describe('When the hour, the day or the month begins'),
    project_id: named('With `project` in `group_by`, and so on. null: there is none'),
    agent_id: named('null: no agent, as with tests of a provider'),
    version: named('null: the working copy'),
    environment: z.string().nullable().optional(),
    key_id: named('null: a token, or the command line on the host'),
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
    rows: z.array(UsageRow).describe('By time, then by what they are grouped by'),
  })
  .meta({ id: 'Usage' })

export type UsageReply = z.input<typeof UsageReply>
