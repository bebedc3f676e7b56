import { randomBytes } from 'node:crypto'
import { actorOf, type Key, statusOf } from '../keys/key.ts'
import * as keys from '../keys/store.ts'
import type { Actor } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { sha256 } from '../security/digest.ts'
import type { Database } from '../storage/database.ts'
import type { ConsoleSession } from './console-session.ts'
import * as sessions from './store.ts'

/** A key's secret, or the token of a link that was created for a key. */
export type Credential = { key: string } | { link_token: string }

export type SignInFrom = { request_id: string; address: string; browser: string; secure: boolean }

/** How many browsers a key or a person can be signed in with. Another sign-in ends the oldest session. */
const MOST_PER_HOLDER = 20
const MAX_BROWSER_CHARACTERS = 200

export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

export type SignInParts = Pick<Parts, 'audit' | 'config' | 'newId' | 'now' | 'storage'>

/** The secret is returned only here. */
export type OpenedSession = { actor: Actor; secret: string }

/** A session with a new ID and secret, no matter what the browser had before. */
export function newSession(
  { config, newId, now }: Pick<SignInParts, 'config' | 'newId' | 'now'>,
  from: SignInFrom,
  until = Number.POSITIVE_INFINITY,
): { session: ConsoleSession; secret: string } {
  const time = now()
  const secret = newSecret()
  const session: ConsoleSession = {
    id: newId('cns', time),
    key_id: null,
    key_hash: null,
    by_previous_secret_until: null,
    person_id: null,
    issuer: null,
    issuer_subject: null,
    issuer_session: null,
    issuer_tokens: null,
    can_confirm: 0,
    confirm_before: null,
    confirming_until: 0,
    is_strong: 0,
    hash: sha256(secret),
    previous_hash: null,
    rotated_at: time,
    confirmed_at: time,
    secure: from.secure ? 1 : 0,
    address: from.address,
    browser: from.browser.slice(0, MAX_BROWSER_CHARACTERS),
    created_at: time,
    last_used_at: time,
    expires_at: Math.min(time + config.console.sessionLifetime, until),
  }
  return { session, secret }
}

/** Stores a new session, ends the oldest ones of the same key or person, and adds an entry to the audit log. */
export async function keepSession(
  db: Database,
  { audit }: Pick<SignInParts, 'audit'>,
  session: ConsoleSession,
  { actor, from, fields }: { actor: Actor; from: SignInFrom; fields: string[] },
): Promise<void> {
  await sessions.insert(db, session)
  await sessions.endOlder(db, session, MOST_PER_HOLDER)
  await audit.record(db, {
    actor,
    action: 'signIn',
    project_id: actor.scope.project_id,
    agent_id: actor.scope.agent_id,
    target: session.id,
    request_id: from.request_id,
    address: from.address,
    fields,
    outcome: 'success',
  })
}

/** Opens a session for a key. Undefined if the key or the link isn't valid. */
export async function signIn(
  parts: SignInParts,
  credential: Credential,
  from: SignInFrom,
): Promise<OpenedSession | undefined> {
  const { storage, now } = parts
  // There may be many guesses. They must neither wait for a database's only writer nor make others wait.
  const isGuess = 'link_token' in credential && !(await sessions.hasLink(storage.db, sha256(credential.link_token)))
  if (isGuess) return undefined
  return storage.transaction(async (db) => {
    const time = now()
    const found = 'key' in credential ? await ofKey(db, credential.key, time) : await ofLink(db, credential, time)
    if (!found) return undefined
    const { key, by_previous_secret_until } = found
    const until = Math.min(
      key.expires_at ?? Number.POSITIVE_INFINITY,
      by_previous_secret_until ?? Number.POSITIVE_INFINITY,
    )
    const { session, secret } = newSession(parts, from, until)
    const opened = { ...session, key_id: key.id, key_hash: key.hash, by_previous_secret_until }
    const actor = actorOfKey(key, opened)
    await keepSession(db, parts, opened, { actor, from, fields: Object.keys(credential) })
    return { actor, secret }
  })
}

/** The actor in the session of a key. */
export function actorOfKey(key: Key, { id: console_session, by_previous_secret_until }: ConsoleSession): Actor {
  const isOld = by_previous_secret_until !== null
  return { ...actorOf(key), console_session, ...(isOld && { by_previous_secret_until }) }
}

type SignedBy = { key: Key; by_previous_secret_until: number | null }

/** If the secret is in its grace period, the session ends with the secret. */
async function ofKey(db: Database, secret: string, now: number): Promise<SignedBy | undefined> {
  const found = await keys.findBySecret(db, sha256(secret))
  if (!found || statusOf(found.key, now) !== 'active') return undefined
  const { key, until } = found
  return until === null || until > now ? { key, by_previous_secret_until: until } : undefined
}

async function ofLink(
  db: Database,
  { link_token }: { link_token: string },
  now: number,
): Promise<SignedBy | undefined> {
  const link = await sessions.takeLink(db, sha256(link_token), now)
  const key = link && (await keys.find(db, link.key_id))
  if (!key || key.hash !== link.key_hash || statusOf(key, now) !== 'active') return undefined
  return { key, by_previous_secret_until: null }
}
