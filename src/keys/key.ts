import { z } from 'zod'
import type { Actor } from '../operation/actor.ts'
import { Permission } from '../security/permissions.ts'
import { KeyName, Label, Time, TimeInput } from '../shapes.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { RowWith, Tables } from '../storage/tables.ts'

export const KeyStatus = z.enum(['active', 'expired', 'revoked'])

export const KeyParams = z.strictObject({ key_id: z.string() })

const NewKey = z.strictObject({
  name: Label(200),
  agent_id: z
    .string()
    .nullable()
    .default(null)
    .describe('Limits the key to one agent (ID or name); with null, the key has access to the whole project'),
  permissions: z
    .array(Permission)
    .min(1)
    .refine((permissions) => new Set(permissions).size === permissions.length, 'must not repeat a permission')
    .optional(),
  role: Label(64)
    .optional()
    .describe('`admin`, `developer`, `viewer`, `caller`, or a role from the configuration, instead of `permissions`'),
  tier: Label(64)
    .optional()
    .describe(
      'A rate-limit tier from the configuration. Default: `limits.defaultTier`, or your own tier if that is slower',
    ),
  expires_at: TimeInput.nullable().default(null),
})

type Rights = { permissions?: unknown; role?: unknown }
const isEither = ({ permissions, role }: Rights) => (permissions === undefined) !== (role === undefined)
const EITHER = { message: 'specify either `permissions` or `role`', path: ['permissions'] }

export const CreateKeyBody = NewKey.extend({
  all_projects: z
    .boolean()
    .optional()
    .describe(
      'Whether the key has access to all projects. Only a key with access to all projects can create one. Default: true if the new key has the permission `manage`, the key that creates it has access to all projects, and the request names no project',
    ),
})
  .refine(isEither, EITHER)
  .meta({ id: 'CreateKey' })

export const CreatePersonalKeyBody = NewKey.refine(isEither, EITHER).meta({ id: 'CreatePersonalKey' })

export const KeyReply = z
  .object({
    id: z.string(),
    name: z.string(),
    project_id: z.string().nullable().describe('null: it has access to all projects'),
    agent_id: z.string().nullable(),
    permissions: z.array(Permission),
    role: z.string().nullable(),
    tier: z.string(),
    hint: z.string(),
    status: KeyStatus,
    created_at: Time,
    created_by: z.string(),
    created_by_name: KeyName,
    person_id: z
      .string()
      .nullable()
      .describe(
        'The person whom the key belongs to. It never has more permissions than they do, and stops working when their role ends. null: the key belongs to no person',
      ),
    person_name: KeyName,
    expires_at: Time.nullable(),
    last_used_at: Time.nullable(),
    previous_secret_expires_at: Time.nullable(),
    revoked_at: Time.nullable(),
  })
  .meta({ id: 'Key' })

export const KeyWithSecret = z
  .object({ ...KeyReply.shape, secret: z.string().describe('Returned only in this reply') })
  .meta({ id: 'KeyWithSecret' })

/** The `role_source` of a connected application's key, which has no secret of the API's format and isn't listed. */
export const APPLICATION_KEY = 'application'

/** A key as the service stores it: with hashes, never with the secret. A person's role is a key without a secret. */
export type Key = RowWith<Tables['keys'], { permissions: Permission[] }>

/** What a key has unless it is given something else: no secret, no owner, no expiry, and access to all agents. */
export const NEW_KEY = {
  agent_id: null,
  role: null,
  hint: '',
  previous_secret_expires_at: null,
  rotated_by: null,
  expires_at: null,
  last_used_at: null,
  revoked_at: null,
  person_id: null,
  role_source: null,
  role_id: null,
  vouched_at: null,
} satisfies Partial<Key>

export function statusOf(key: Pick<Key, 'revoked_at' | 'expires_at'>, now: number): z.output<typeof KeyStatus> {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && key.expires_at <= now ? 'expired' : 'active'
}

export function presentKey(key: Key, now: number): Omit<z.input<typeof KeyReply>, 'created_by_name' | 'person_name'> {
  const inGrace = key.previous_secret_expires_at !== null && key.previous_secret_expires_at > now
  return {
    ...key,
    status: statusOf(key, now),
    previous_secret_expires_at: inGrace ? key.previous_secret_expires_at : null,
  }
}

export function actorOf(key: Key): Actor {
  const { id, project_id, agent_id, permissions, tier, expires_at, person_id } = key
  const scope = { project_id: project_id ?? DEFAULT_PROJECT, agent_id, user_id: null }
  const reach = project_id === null ? 'service' : 'project'
  return { kind: 'key', id, ...(person_id !== null && { person_id }), scope, reach, permissions, tier, expires_at }
}

/** Enough to recognise a key, and far too little to guess it. */
export function hintOf(secret: string): string {
  return `${secret.slice(0, 8)}…${secret.slice(-4)}`
}
