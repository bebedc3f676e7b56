import type { Config } from '../config.ts'
import { forbidden } from '../errors.ts'
import { APPLICATION_KEY, type Key, NEW_KEY } from '../keys/key.ts'
import { requireRole, rolePermissions } from '../keys/make-key.ts'
import * as keys from '../keys/store.ts'
import { type Actor, requireLasting } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { covers } from '../security/permissions.ts'
import { type Application, CODE_MS, hashOf, newSecretOf } from './application.ts'
import { endApplication } from './end-application.ts'
import * as applications from './store.ts'

/** What a client has asked for, and its person has allowed. */
export type ApplicationRequest = {
  client_id: string
  client_name: string
  redirect_uri: string
  resource: string
  code_challenge: string
  /** The agent at whose path the client is. Null for the path of all agents. */
  agent_id: string | null
}

/** The request of the browser or the client. */
export type SignInOrigin = { request_id: string; address: string }

export type ConnectParts = Pick<Parts, 'audit' | 'config' | 'newId' | 'now' | 'storage'>

/** How many applications can be connected with one role or key. Another one ends the oldest. */
const MOST_PER_SIGNER = 50

/**
 * Connects an application for a person or key that is signed in. Returns the code that the application exchanges for its
 * tokens. The application is stored as a key that ends with the person's role or with the key that signed in, so even a
 * code ends with them.
 */
export async function connectApplication(
  asked: ApplicationRequest,
  actor: Actor,
  { request_id, address }: SignInOrigin,
  parts: ConnectParts,
): Promise<string> {
  const { audit, config, newId, now, storage } = parts
  requireLasting(actor, 'A connected application')
  const permissions = permissionsOf(actor, config)
  const code = newSecretOf('code')
  await storage.transaction(async (db) => {
    await requireRole(db, actor.id, permissions)
    const time = now()
    const id = newId('app', time)
    const key = keyOf(id, asked, { actor, permissions, time })
    await keys.insert(db, key)
    await applications.insert(db, applicationOf(id, asked, { actor, code, time }))
    for (const older of await applications.listOlder(db, actor.id, MOST_PER_SIGNER))
      await endApplication(db, older, time)
    const { project_id } = actor.scope
    const event = { actor, project_id, agent_id: key.agent_id, target: id, request_id, address, fields: ['client_id'] }
    await audit.record(db, { ...event, action: 'connectApplication', outcome: 'success' })
  })
  return code
}

/** The permissions of the role `caller`, as far as the person or key has them. */
function permissionsOf(actor: Actor, config: Config): Key['permissions'] {
  const permissions = rolePermissions('caller', config).filter((one) => covers(actor.permissions, one))
  if (covers(permissions, 'invoke')) return permissions
  throw forbidden(
    actor.kind === 'person' ? "Your role here doesn't allow calling agents." : "This key doesn't allow calling agents.",
  )
}

function keyOf(
  id: string,
  { client_name: name, agent_id }: ApplicationRequest,
  { actor, permissions, time }: { actor: Actor; permissions: Key['permissions']; time: number },
): Key {
  const { scope, tier, expires_at } = actor
  return {
    ...NEW_KEY,
    id,
    name,
    project_id: scope.project_id,
    agent_id: scope.agent_id ?? agent_id,
    permissions,
    role: 'caller',
    tier,
    // No secret has this hash.
    hash: id,
    created_at: time,
    created_by: actor.id,
    expires_at,
    // It isn't a role of the person, nor a key that they manage.
    person_id: null,
    role_source: APPLICATION_KEY,
    role_id: actor.id,
  }
}

function applicationOf(
  id: string,
  { client_id, redirect_uri, resource, code_challenge }: ApplicationRequest,
  { actor, code, time }: { actor: Actor; code: string; time: number },
): Application {
  const { person_id = null } = actor
  return {
    id,
    client_id,
    redirect_uri,
    resource,
    person_id,
    user_id: person_id ?? actor.id,
    code_hash: hashOf('code', code) ?? '',
    code_challenge,
    code_expires_at: time + CODE_MS,
    connected_at: null,
  }
}
