import { z } from 'zod'
import { NamedFile } from '../invocations/attachments/attachment-shape.ts'
import { AnswerChecks } from '../invocations/cases/answer-check.ts'
import type { StoredCase } from '../invocations/cases/case-store.ts'
import { LastRuns, MOST_CASES, RequestIds, RunFilter } from '../invocations/cases/choose-runs.ts'
import type { RunCase } from '../invocations/cases/run-case.ts'
import { InvocationContext } from '../invocations/invocation.ts'
import { canonicalJson } from '../lib/json.ts'
import { sha256 } from '../security/digest.ts'
import { KeyName, Label, Text, Time } from '../shapes.ts'

const MOST_TURNS = 200
const MOST_FILES = 20

export const SetName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'must be 1 to 63 of a-z, 0-9, ., _ and -, starting with a letter or digit')

export const SetParams = z.strictObject({ agent_id: z.string(), name: SetName })

const Turn = z.strictObject({ role: z.enum(['user', 'assistant']), content: Text(100_000, 0) })

const NewCase = z.strictObject({
  name: Label(200).optional(),
  message: Text(100_000),
  context: InvocationContext.default({}),
  history: z.array(Turn).max(MOST_TURNS).default([]).describe('The turns before the message, oldest first'),
  attachments: z
    .array(z.strictObject({ file_id: Label(100) }))
    .max(MOST_FILES)
    .default([])
    .describe('Stored files that come with the message'),
  checks: AnswerChecks.default([]),
})

const From = z.union(
  [
    z.strictObject({ request_ids: RequestIds }),
    z.strictObject({ filter: RunFilter.default({}), last: LastRuns.default(100) }),
  ],
  { error: 'must be { request_ids } or { filter, last }' },
)

export const PutSetBody = z
  .strictObject({
    description: Text(2_000, 0).nullable().default(null),
    cases: z.array(NewCase).min(1).max(MOST_CASES).optional(),
    from: From.optional().describe('Copies past invocations, with their answers and the results of their tool calls'),
  })
  .refine(({ cases, from }) => (cases === undefined) !== (from === undefined), 'specify either `cases` or `from`')
  .meta({ id: 'PutSet' })

const SetSummary = z.object({
  name: z.string(),
  agent_id: z.string(),
  description: z.string().nullable(),
  digest: z.string().describe('SHA-256 hash of the cases. It changes whenever a case changes'),
  case_count: z.int(),
  created_by: z.string(),
  created_by_name: KeyName,
  created_at: Time,
  updated_at: Time,
})

export const SetReply = SetSummary.meta({ id: 'CaseSet' })

export const SetWithCases = z
  .object({
    ...SetSummary.shape,
    cases: z.array(
      z.object({
        name: z.string().nullable(),
        request_id: z.string().nullable().describe('The invocation that the case is a copy of'),
        erased: z.boolean().describe('Whether its content was erased, with the invocation or the user'),
        message: z.string(),
        context: z.record(z.string(), z.unknown()),
        history: z.array(z.object({ role: z.enum(['user', 'assistant']), content: z.string() })),
        attachments: z.array(NamedFile),
        checks: AnswerChecks,
      }),
    ),
  })
  .meta({ id: 'CaseSetWithCases' })

/** Messages that an agent should answer well. */
export type CaseSet = {
  id: string
  agent_seq: number
  name: string
  description: string | null
  digest: string
  cases: number
  created_by: string
  created_at: number
  updated_at: number
}

export function digestOfCases(cases: readonly RunCase[]): string {
  return sha256(canonicalJson(cases))
}

export function presentSet({ agent_seq: _seq, cases: case_count, id: _id, ...set }: CaseSet, agent_id: string) {
  return { ...set, agent_id, case_count }
}

export function presentCase({ name, request_id, content }: StoredCase) {
  const { message = '', context = {}, history = [], attachments = [], checks = [] } = content ?? {}
  return {
    name,
    request_id,
    erased: content === undefined,
    message,
    context,
    history: history.map(({ role, content: said }) => ({ role, content: said })),
    attachments: [...attachments],
    checks: [...checks],
  }
}
