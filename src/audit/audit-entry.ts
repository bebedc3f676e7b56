import { z } from 'zod'
import { sha256 } from '../security/digest.ts'
import { KeyName, Time } from '../shapes.ts'

export const AuditOutcome = z.enum(['success', 'started', 'refused'])

export const AuditEntryReply = z
  .object({
    id: z.string(),
    seq: z.int().nullable().describe('Its place in the chain; null for the moment before it has one'),
    created_at: Time,
    actor_kind: z
      .enum(['key', 'token', 'local', 'console', 'person'])
      .nullable()
      .describe(
        '`console`: the holder of the key was signed in to the console. `local`: the host, or the service by itself',
      ),
    actor: z.string().nullable().describe('A key, a person … Null when the credentials were not recognised'),
    actor_name: KeyName,
    key_id: z.string().nullable().describe('The key of their own that a person has used'),
    action: z.string().nullable().describe('The operationId; null on a path that is no operation'),
    project_id: z.string(),
    agent_id: z.string().nullable(),
    target: z.string().nullable().describe('The id of what was changed'),
    outcome: AuditOutcome.describe(
      '`started`: told before a change that is no single transaction, and again when it is done',
    ),
    code: z.string().nullable().describe('The error code of a refusal'),
    fields: z.array(z.string()).describe('The names of the fields that were sent, never their values'),
    times: z.int().describe('How many refusals of the same kind this entry stands for'),
    request_id: z.string().describe('Of the first of them'),
    address: z.string().nullable().describe('Null on the host itself, and for refusals of many addresses'),
    prev_hash: z.string().nullable(),
    hash: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' })

/** An entry that is not in the chain yet. */
export type AuditEntry = {
  id: string
  created_at: number
  actor_kind: 'key' | 'token' | 'local' | 'console' | 'person' | null
  actor: string | null
  key_id: string | null
  action: string | null
  project_id: string
  agent_id: string | null
  target: string | null
  outcome: z.output<typeof AuditOutcome>
  code: string | null
  fields: string[]
  times: number
  request_id: string
  address: string | null
}

export type Link = { seq: number; prev_hash: string; hash: string }

/** The hash of `[seq, prev_hash, …]` as JSON. With the entries alone, anybody can check the chain without us. */
export function hashOf(entry: AuditEntry, { seq, prev_hash }: Omit<Link, 'hash'>): string {
  const { id, created_at, actor_kind, actor, key_id, action, project_id, agent_id, target, outcome, code } = entry
  const { fields, times, request_id, address } = entry
  const who = [actor_kind, actor, key_id, action, project_id, agent_id, target, outcome, code]
  return sha256(JSON.stringify([seq, prev_hash, id, created_at, ...who, fields, times, request_id, address]))
}
