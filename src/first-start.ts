import { randomBytes } from 'node:crypto'
import { CreateAgentBody } from './agents/agent.ts'
import * as agents from './agents/store.ts'
import { hintOf, NEW_KEY } from './keys/key.ts'
import * as keys from './keys/store.ts'
import { eventOfHost } from './operation/audit-trail.ts'
import type { Parts } from './operation/parts.ts'
import * as invitations from './people/invitations/invitation-store.ts'
import { withLimits } from './projects/project.ts'
import * as projects from './projects/store.ts'
import { sha256 } from './security/digest.ts'
import { newKey } from './security/key-format.ts'
import { defaultRoles } from './security/permissions.ts'
import type { Database } from './storage/database.ts'
import { writeOnce } from './storage/stored-settings.ts'
import { DEFAULT_PROJECT } from './storage/tables/project-tables.ts'

export const DEMO_AGENT = 'hello'
/** How long the first administrator has to sign in. Their email address alone is enough, so the time is short. */
const FIRST_PERSON_MS = 7 * 24 * 3_600_000

/** The new admin key, if this start created one. It is shown only once. */
export type FirstStart = { adminKey: string | undefined }

type FirstParts = Pick<Parts, 'audit' | 'config' | 'newId' | 'now' | 'storage'>

/** Gives a new store an admin key and an agent to talk to. If several nodes start together, one of them does it. */
export async function firstStart(parts: FirstParts): Promise<FirstStart> {
  return parts.storage.transaction(async (db) => {
    const { first } = await writeOnce(db, 'first_start', String(parts.now()))
    if (!first) return { adminKey: undefined }
    await projects.begin(db, parts.now())
    await insertProject(db, parts)
    await insertDemoAgent(db, parts)
    await invitePerson(db, parts)
    if ((await keys.count(db)) > 0) return { adminKey: undefined }
    const given = parts.config.initKey
    const secret = given ?? newKey(randomBytes)
    const key_id = await insertAdminKey(db, parts, secret)
    const started = { action: 'firstStart', project_id: DEFAULT_PROJECT, target: key_id, outcome: 'success' } as const
    await parts.audit.record(db, eventOfHost(parts, started))
    return { adminKey: given ? undefined : secret }
  })
}

async function insertAdminKey(db: Database, { config, newId, now }: FirstParts, secret: string): Promise<string> {
  const time = now()
  const id = newId('key', time)
  const fastest = Object.entries(config.limits.tiers).toSorted(
    ([, a], [, b]) => b.requestsPerMinute - a.requestsPerMinute,
  )
  await keys.insert(db, {
    ...NEW_KEY,
    id,
    name: 'first admin key',
    project_id: null,
    permissions: [...defaultRoles.admin],
    role: 'admin',
    tier: config.limits.tiers.enterprise ? 'enterprise' : (fastest[0]?.[0] ?? config.limits.defaultTier),
    hint: hintOf(secret),
    hash: sha256(secret),
    created_at: time,
    created_by: 'local',
  })
  return id
}

async function insertProject(db: Database, { config, newId, now }: FirstParts): Promise<void> {
  const name = config.initProject
  if (name === undefined || (await projects.find(db, name))) return
  const [time, limits] = [now(), withLimits({}, {})]
  const id = newId('prj', time)
  const times = { created_at: time, updated_at: time }
  await projects.insert(db, { id, name, description: null, limits, stored_bytes: null, ...times })
}

/**
 * The person with this email address becomes an administrator at their first sign-in. Their verified address is enough.
 */
async function invitePerson(db: Database, { config, newId, now }: FirstParts): Promise<void> {
  if (config.initPerson === undefined) return
  const time = now()
  await invitations.insert(db, {
    id: newId('inv', time),
    hash: null,
    project_id: null,
    role: 'admin',
    email: config.initPerson.toLowerCase(),
    created_at: time,
    created_by: 'local',
    expires_at: time + FIRST_PERSON_MS,
    accepted_at: null,
    accepted_by: null,
  })
}

async function insertDemoAgent(db: Database, { newId, now }: FirstParts): Promise<void> {
  const time = now()
  const { auth: _, ...body } = CreateAgentBody.parse({
    name: DEMO_AGENT,
    description: 'A sample agent to try the API with. You can delete it at any time.',
  })
  await agents.insert(db, {
    ...body,
    id: newId('agt', time),
    project_id: DEFAULT_PROJECT,
    status: 'running',
    auth: null,
    created_at: time,
    updated_at: time,
  })
}
