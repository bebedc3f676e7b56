import { z } from 'zod'
import { sha256 } from '../security/digest.ts'
import { KeyName, Time } from '../shapes.ts'

export const AuditOutcome = z.enum(['success', 'started', 'refused'])

export const AuditEntryReply = z
  .object({
    id: z.string(),
    seq: z
      .int()
      .nullable()
      .describe("The entry's position in the chain; null until it has one, shortly after it is written"),
    created_at: Time,
    actor_kind: z
      .enum(['key', 'token', 'local', 'console', 'person'])
      .nullable()
      .describe('`console`: from a console session. `local`: a command on the server, or the service itself'),
    actor: z.string().nullable().describe('For example a key or a person. Null if the credentials were not recognized'),
    actor_name: KeyName,
    key_id: z.string().nullable().describe('The personal key that was used'),
    action: z.string().nullable().describe("The operation's `operationId`; null if the path matches no operation"),
    project_id: z.string(),
    agent_id: z.string().nullable(),
    target: z.string().nullable().describe('The ID of what was changed'),
    outcome: AuditOutcome.describe(
      '`started`: written before a change that takes several transactions. A second entry follows when the change is complete',
    ),
    code: z.string().nullable().describe('The error code, if the request was refused'),
    fields: z.array(z.string()).describe('The names of the fields in the request, never their values'),
    times: z.int().describe('How many refusals of the same kind this entry stands for'),
    request_id: z.string().describe('When the first of them happened'),
    address: z.string().nullable().describe('Null for commands on the server, and for refusals from several addresses'),
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

/** The hash of `[seq, prev_hash, …]` as JSON. With the entries alone, anyone can check the chain without us. */
export function hashOf(entry: AuditEntry, { seq, prev_hash }: Omit<Link, 'hash'>): string {
  const { id, created_at, actor_kind, actor, key_id, action, project_id, agent_id, target, outcome, code } = entry
  const { fields, times, request_id, address } = entry
  const who = [actor_kind, actor, key_id, action, project_id, agent_id, target, outcome, code]
  return sha256(JSON.stringify([seq, prev_hash, id, created_at, ...who, fields, times, request_id, address]))
}
