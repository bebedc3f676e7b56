import { z } from 'zod'
import type { Key } from '../keys/key.ts'
import type { Actor, RoleInProject } from '../operation/actor.ts'
import { Permission } from '../security/permissions.ts'
import { Time } from '../shapes.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { Tables } from '../storage/tables.ts'

/** A person who signs in with an identity provider. */
export type Person = Tables['persons']

/**
 * A person's role is a key without a secret: what it started continues as long as the role exists, and it is revoked
 * like a key.
 */
export type Role = Key & { person_id: string; role: string; role_source: string }

/**
 * A role that an administrator or an invitation gave. Every other role comes from the groups of an identity provider.
 */
export const GRANTED = 'granted'

/** Roles from a person's groups follow their provider within this time, if it can be asked. */
export const VOUCHED_MS = 10 * 60_000

export const PersonParams = z.strictObject({ person_id: z.string() })

export const PersonReply = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    email_verified: z.boolean(),
    identities: z
      .array(z.object({ issuer: z.string(), subject: z.string() }))
      .describe("The person's accounts at identity providers"),
    roles: z
      .array(
        z.object({
          id: z.string(),
          project_id: z.string().nullable().describe('null: all projects'),
          role: z.string(),
          permissions: z.array(Permission),
          source: z.string().describe("`granted`, or `group:` and the identity provider's name"),
          created_at: Time,
        }),
      )
      .describe(
        'Their roles in this project; in all projects if the request names none and the key has access to all projects',
      ),
    created_at: Time,
    last_seen_at: Time.describe('When an identity provider last confirmed the person'),
  })
  .meta({ id: 'Person' })

/** A person's keys that have lost permissions because of a change of their role. */
export const KeysLost = {
  narrowed_keys: z
    .array(z.string())
    .describe("Their keys whose permissions were reduced; the permissions don't come back on their own"),
  revoked_keys: z.array(z.string()).describe('Their keys that no longer work'),
}

type IdentityRef = { issuer: string; subject: string }

export function presentPerson(
  person: Person,
  identities: readonly IdentityRef[],
  roles: readonly Role[],
): z.input<typeof PersonReply> {
  return {
    ...person,
    email_verified: person.email_verified === 1,
    identities: identities.map(({ issuer, subject }) => ({ issuer, subject })),
    roles: roles.map(({ role_source: source, ...role }) => ({ ...role, source })),
  }
}

/**
 * How long a role is valid for a person whom a provider has signed in. Roles from another provider's groups are valid
 * only while that provider is asked too. Otherwise, a session would keep a right that has ended there.
 */
export function endOfRole(
  { role_source, vouched_at }: Pick<Key, 'role_source' | 'vouched_at'>,
  issuer?: string,
): number {
  const isLasting = role_source === GRANTED || role_source === `group:${issuer}`
  return isLasting ? Number.POSITIVE_INFINITY : (vouched_at ?? 0) + VOUCHED_MS
}

/**
 * The actor for a person. A role for all projects applies everywhere; otherwise a request without a project is for the
 * default project, or for the first one by ID. Undefined for a person without a role.
 */
export function actorOfPerson(roles: readonly Role[]): Actor | undefined {
  const everywhere = roles.find(({ project_id }) => project_id === null)
  if (everywhere) return actorOfRole(everywhere)
  const inProjects = new Map(roles.map((role) => [role.project_id ?? '', role]))
  const first = inProjects.get(DEFAULT_PROJECT) ?? roles.toSorted((a, b) => (a.id < b.id ? -1 : 1))[0]
  return first && { ...actorOfRole(first), roles: inProjects satisfies ReadonlyMap<string, RoleInProject> }
}

function actorOfRole({ id, person_id, project_id, permissions, tier }: Role): Actor {
  return {
    kind: 'person',
    id,
    person_id,
    scope: { project_id: project_id ?? DEFAULT_PROJECT, agent_id: null, user_id: null },
    reach: project_id === null ? 'service' : 'project',
    permissions,
    tier,
    expires_at: null,
  }
}
