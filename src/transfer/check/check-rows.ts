import { z } from 'zod'
import { AgentStatus, CreateAgentBody } from '../../agents/agent.ts'
import { DefinitionFields, definitionColumns, readDefinition } from '../../agents/definition.ts'
import { ScopeType } from '../../budgets/budget.ts'
import { Per } from '../../budgets/budget-period.ts'
import { GivenRates } from '../../config/price-shape.ts'
import { DeploymentStatus } from '../../deployments/deployment.ts'
import { ApiError } from '../../errors.ts'
import { FileName } from '../../files/file.ts'
import { ApprovalStatus } from '../../invocations/approvals/approval.ts'
import { ApprovalKind, Arguments } from '../../invocations/approvals/pending.ts'
import { FeedbackComment, FeedbackKey } from '../../invocations/feedback/feedback.ts'
import { InvocationContext, isFinal } from '../../invocations/invocation.ts'
import { presentInvocation, Receipt } from '../../invocations/receipt.ts'
import { fromRow } from '../../invocations/rows/invocation-rows.ts'
import { canonicalJson } from '../../lib/json.ts'
import { problemIn as problemOf } from '../../lib/text/plain-issue.ts'
import { MEDIA_TYPE } from '../../lib/text/text.ts'
import { MemoryKind } from '../../memory/memory.ts'
import { DOORS } from '../../operation/door.ts'
import { PURPOSES } from '../../operation/spending.ts'
import { SetProviderBody } from '../../providers/provider.ts'
import { CreateScheduleBody } from '../../schedules/schedule.ts'
import { requireNext } from '../../schedules/times.ts'
import { SetSecretBody } from '../../secrets/secret.ts'
import { Permission } from '../../security/permissions.ts'
import { PROVIDER_NAME } from '../../security/provider-name.ts'
import { AgentSecurity } from '../../security/security-settings.ts'
import { SECRET_NAME } from '../../security/tool-secret.ts'
import { Label, parseStored } from '../../shapes.ts'
import { CreateWebhookBody, DisabledReason, WebhookStatus } from '../../webhooks/webhook.ts'
import type { CarriedName, FileRecord } from '../carried-tables.ts'

/** What is known about rows of other tables in the same file. */
export type KnownRows = { versions: ReadonlySet<string> }

type Check = (row: FileRecord, known: KnownRows) => string | undefined | Promise<string | undefined>

/** Checks of rows that an operation would have refused. A wrong value in any other column does no harm. */
const CHECKS: Partial<Record<CarriedName, Check>> = {
  agents: (row) =>
    problemIn(z.object({ name: CreateAgentBody.shape.name, status: AgentStatus }), row) ??
    problemOfDefinition(row) ??
    problemIn(AgentSecurity.nullable(), stored(AgentSecurity.nullable(), row['security']), 'security'),
  versions: (row) => problemIn(z.object({ version: Label(200) }), row) ?? problemOfDefinition(row),
  deployments: (row, { versions }) =>
    problemIn(z.object({ status: DeploymentStatus }), row) ??
    (versions.has(versionName(row)) ? undefined : 'version is not in the file'),
  providers: (row) => {
    const { type, base_url } = row
    const settings = { type, base_url, vision: json(row['vision']), cache: row['cache'] === 1 }
    return problemIn(PROVIDER_NAME, row['name'], 'name') ?? problemIn(SetProviderBody, settings)
  },
  prices: (row) =>
    problemIn(z.string().regex(/^[^/\s]+\/\S{1,500}$/), row['model'], 'model') ??
    problemIn(z.strictObject(GivenRates), json(row['rates']), 'rates'),
  secrets: (row) =>
    problemIn(z.string().regex(SECRET_NAME), row['name'], 'name') ??
    problemIn(SetSecretBody.shape.hosts, json(row['hosts']), 'hosts'),
  budgets: (row) =>
    problemIn(Budget, row) ??
    problemIn(z.array(z.int().min(1).max(100)).max(10), json(row['thresholds']), 'thresholds') ??
    problemIn(TimeZoneName, row['timezone'], 'timezone') ??
    ((row['scope_type'] === 'agent') === (row['agent_id'] !== null) ? undefined : 'agent_id does not fit the scope'),
  budget_counters: (row) => problemIn(z.object({ used: z.int().min(0) }), row),
  files: (row) => problemIn(z.object({ name: FileName, media_type: z.string().regex(MEDIA_TYPE) }), row),
  schedules: problemOfSchedule,
  memories: (row) => problemIn(Memory, { ...row, ...jsonIn(row, 'metadata') }),
  memory_vectors: ({ vector }) =>
    problemIn(
      z
        .string()
        .min(1)
        .max(2 ** 17),
      vector,
      'vector',
    ) ?? (Buffer.byteLength(String(vector), 'base64') % 4 === 0 ? undefined : 'vector is not a list of numbers'),
  memory_scopes: (row) => problemIn(z.object({ level: z.int().min(0).max(2) }), row),
  invocations: problemOfReceipt,
  approvals: (row) => problemIn(Decided, { ...row, ...jsonIn(row, 'arguments', 'input_schema', 'changed_arguments') }),
  feedback: (row) => problemIn(FeedbackRow, row),
  logs: (row) => problemIn(LogRow, { ...row, ...jsonIn(row, 'metadata') }),
  ledger: (row) => problemIn(Line, { ...row, ...jsonIn(row, 'price') }),
  recent_metrics: (row) => problemIn(z.object({ bucket: Bucket, start: Minutes }), row),
  metrics: (row) => problemIn(z.object({ minutes: z.literal([1, 60]), start: Minutes }), row),
  metric_buckets: (row) => problemIn(z.object({ minutes: z.literal([1, 60]), bucket: Bucket, start: Minutes }), row),
  version_metrics: (row) =>
    problemIn(z.object({ minutes: z.literal([0, 1, 60]), bucket: Bucket, start: Minutes }), row),
  webhooks: (row) =>
    problemIn(Webhook, row) ?? problemIn(CreateWebhookBody.shape.events, json(row['events']), 'events'),
  keys: (row) => problemIn(Key, row) ?? problemIn(z.array(Permission).max(20), json(row['permissions']), 'permissions'),
  earlier_secrets: (row) => problemIn(z.object({ hash: Sha256 }), row),
  key_factors: (row) => problemIn(z.object({ status: z.enum(['pending', 'active']) }), row),
}

/** What is wrong with a row whose values have the right types. */
export async function problemOfRow(table: CarriedName, row: FileRecord, known: KnownRows): Promise<string | undefined> {
  try {
    return await CHECKS[table]?.(row, known)
  } catch (error) {
    const [detail] = (error instanceof ApiError && error.details) || []
    if (detail) return `${detail.field} ${detail.error}`
    return error instanceof TypeError ? `${row['id']} has JSON of another shape` : (error as Error).message
  }
}

/** A name for a version that is unique among all agents. */
export function versionName({ agent_id, version }: FileRecord): string {
  return `${agent_id}/${version}`
}

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const Minutes = z
  .int()
  .min(0)
  .max(2 ** 32)
const Bucket = z.int().min(0).max(10_000)

const Budget = z.object({
  name: Label(200),
  scope_type: ScopeType.exclude(['service']),
  limit_kind: z.enum(['cost_usd', 'tokens', 'runs']),
  amount: z.int().min(1),
  per: Per,
  action: z.enum(['refuse', 'notify']),
})

const TimeZoneName = z.string().refine((name) => {
  try {
    new Date(0).toLocaleString('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}, 'is not a time zone')

/** Many times what an operation accepts. */
const MOST_CONTENT = 1_000_000

/**
 * Only the marks of speakers can contain an underscore, because in the index, words with an underscore name a memory's
 * owner.
 */
const Memory = z.object({
  kind: MemoryKind,
  role: z.enum(['user', 'assistant']).nullable(),
  content: z.string().max(MOST_CONTENT),
  terms: z.string().regex(/^(?:(?:_by)?[^_ ]{1,100}(?: (?:_by)?[^_ ]{1,100})*)?$/, 'has words that no text has'),
  length: z.int().min(0),
  metadata: Arguments,
})

const Webhook = z.object({
  url: CreateWebhookBody.shape.url,
  status: WebhookStatus,
  disabled_reason: DisabledReason.nullable(),
})

const Key = z.object({ name: Label(200), tier: Label(64), hash: Sha256, role: Label(64).nullable() })

const FeedbackRow = z.object({
  key: FeedbackKey,
  score_millionths: z.int().min(-1_000_000).max(1_000_000),
  comment: FeedbackComment.nullable(),
})

const Decided = z.object({
  status: ApprovalStatus.exclude(['pending']),
  kind: ApprovalKind,
  arguments: Arguments,
  input_schema: Arguments,
  changed_arguments: Arguments.nullable(),
})

const LogRow = z.object({ level: z.int().min(0).max(3), metadata: Arguments })

const Line = z.object({
  status: z.enum(['completed', 'failed', 'cancelled', 'lost']),
  door: z.enum(DOORS).nullable(),
  purpose: z.enum(PURPOSES),
  price: Arguments.nullable(),
})

const Item = z.looseObject({})

/** The parts of a receipt that replies and later runs of the conversation read without checking. */
const ReceiptJson = z.object({
  attempts: z.array(Item).nullable(),
  attachments: z.array(Item).nullable(),
  authors: z.array(z.string()).nullable(),
  context: InvocationContext,
  error: Item.nullable(),
  given: z.looseObject({ history: z.array(Item).optional(), rounds: z.array(Item).optional() }).nullable(),
  rounds: z
    .array(
      z.looseObject({
        calls: z.array(z.looseObject({ id: z.string(), name: z.string() })),
        results: z.array(Item.nullable()),
      }),
    )
    .nullable(),
  steps: z.array(z.looseObject({ kind: z.string() })),
  tree: z.looseObject({ depth: z.int().min(0), memory_of: z.string().nullable() }).nullable(),
})

/** Lists leave out a receipt that doesn't fit its shape, so the file must not contain one. */
function problemOfReceipt(row: FileRecord): string | undefined {
  if (!isFinal({ status: row['status'] as never })) return 'status is not that of an ended run'
  return (
    problemIn(ReceiptJson, jsonIn(row, ...Object.keys(ReceiptJson.shape))) ??
    problemIn(Receipt, presentInvocation(fromRow(row as unknown as Parameters<typeof fromRow>[0]), ''))
  )
}

const Attachments = z.array(z.object({ file_id: z.string(), name: z.string(), media_type: z.string(), size: z.int() }))

async function problemOfSchedule(row: FileRecord): Promise<string | undefined> {
  const { cron, timezone, every, at, anchor_at, name, message, environment, overlap, catch_up, on_budget } = row
  const given = Object.fromEntries(Object.entries({ cron, timezone, every }).filter(([, value]) => value !== null))
  const asked = { name, message, environment, overlap, catch_up, on_budget, context: json(row['context']) }
  const only = at === null ? {} : { at: '2026-01-01T00:00:00Z' }
  const problem =
    problemIn(CreateScheduleBody, { ...given, ...only, ...asked }) ??
    problemIn(Attachments, json(row['attachments']), 'attachments') ??
    problemIn(z.array(z.string()), json(row['authors']), 'authors')
  if (problem !== undefined || at !== null) return problem
  await requireNext({ cron, timezone, every, at, anchor_at } as Parameters<typeof requireNext>[0], Date.now())
  return undefined
}

/** Checks that the columns which lists and checks read agree with the definition. */
function problemOfDefinition(row: FileRecord): string | undefined {
  const definition = readDefinition(Object(json(row['definition'])))
  const { calls, output_schema } = definitionColumns(definition)
  const isSame = (column: string, text: string) => canonicalJson(json(row[column])) === canonicalJson(JSON.parse(text))
  return (
    problemIn(DefinitionFields, definition, 'definition') ??
    (isSame('calls', calls) && isSame('output_schema', output_schema)
      ? undefined
      : 'definition does not fit what stands beside it')
  )
}

function jsonIn(row: FileRecord, ...columns: string[]): Record<string, unknown> {
  return Object.fromEntries(columns.map((column) => [column, json(row[column])]))
}

function stored(shape: z.ZodType, text: unknown): unknown {
  const value = json(text)
  return value === null ? null : parseStored(shape, value)
}

function json(text: unknown): unknown {
  return text === null || text === undefined ? null : JSON.parse(String(text))
}

/** What is wrong with the value of a column. */
function problemIn(shape: z.ZodType, value: unknown, column = ''): string | undefined {
  const problem = problemOf(shape, value)
  return problem && `${column} ${problem}`.trim()
}
