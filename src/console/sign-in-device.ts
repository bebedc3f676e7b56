import { forbidden } from '../errors.ts'
import { makeKey, personalOwner } from '../keys/make-key.ts'
import * as roleKeys from '../keys/personal/role-store.ts'
import * as keys from '../keys/store.ts'
import { type Actor, workingIn } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { actorOfPerson } from '../people/person.ts'
import { recognisePerson, type Unwelcome } from '../people/recognise-person.ts'
import * as projects from '../projects/store.ts'
import type { OidcIssuer, VerifiedIdentity } from '../security/oidc/oidc-issuer.ts'
import type { Database } from '../storage/database.ts'
import { newSession, type SignInParts } from './sign-in.ts'
import { toldBy } from './sign-in-person.ts'
import * as sessions from './store.ts'

/** After this time, the command line asks its person to sign in again. */
const KEY_LIFETIME_MS = 90 * 24 * 3_600_000

/**
 * `project` is the key's project. It's null if the key has access to all projects. `projects` lists the projects that
 * the person can choose.
 */
type DeviceKey = { actor: Actor; id: string; secret: string; project: string | null; projects: string[] }

export type DeviceFrom = { request_id: string; address: string; name: string; project: string | undefined }

type DeviceParts = SignInParts & Pick<Parts, 'keyring' | 'log'>

/**
 * Creates a personal key for a device whose person has signed in elsewhere. The key that the same device had before
 * ends. Returns the reason if the person has no permissions here.
 */
export async function signInDevice(
  parts: DeviceParts,
  vouched: VerifiedIdentity,
  issuer: OidcIssuer,
  { request_id, address, name, project }: DeviceFrom,
): Promise<DeviceKey | Unwelcome> {
  const { storage, audit, config, newId } = parts
  return storage.transaction(async (db) => {
    const now = parts.now()
    const known = await recognisePerson(db, vouched.identity, issuer.settings, { ...parts, request_id, address, now })
    if (typeof known === 'string') return known
    const { person, roles } = known
    const actor = await inProject(db, actorOfPerson(roles) as Actor, project)
    const owner = personalOwner({ ...actor, person_id: person.id }, null)
    const event = { actor, project_id: actor.scope.project_id, agent_id: null, request_id, address } as const
    for (const earlier of await roleKeys.listMadeWith(db, actor.id)) {
      if (earlier.name !== name) continue
      await keys.revoke(db, earlier.id, now)
      await audit.record(db, { ...event, action: 'revokeKey', target: earlier.id, fields: [], outcome: 'success' })
    }
    const wanted = { name, agent_id: null, permissions: [...actor.permissions], expires_at: now + KEY_LIFETIME_MS }
    const { id, secret } = await makeKey(wanted, () => owner, { db, actor, config, newId, now: parts.now })
    const fields = project === undefined ? ['name'] : ['name', 'project']
    await audit.record(db, { ...event, action: 'signInDevice', target: id, fields, outcome: 'success' })
    if (vouched.tokens.refresh_token !== undefined) {
      // This session signs in no browser, so it has ended from the start. It is used to ask whether the key is still
      // valid.
      const { session } = newSession(parts, { request_id, address, browser: name, secure: true }, now)
      await sessions.insert(db, {
        ...session,
        ...toldBy(issuer, vouched, { keyring: parts.keyring, now }),
        person_id: person.id,
      })
    }
    const offered = await projects.listToChoose(db, [...(actor.roles?.keys() ?? [])])
    const chosen = offered.find((one) => one.id === actor.scope.project_id)
    return { actor, id, secret, project: chosen?.name ?? null, projects: offered.map((one) => one.name) }
  })
}

async function inProject(db: Database, actor: Actor, ref: string | undefined): Promise<Actor> {
  if (ref === undefined) return actor
  const project = await projects.find(db, ref)
  if (!project) throw forbidden('You have no role in this project.')
  return workingIn(actor, project.id)
}
