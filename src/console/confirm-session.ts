import type { AuditTrail } from '../operation/audit-trail.ts'
import type { Parts } from '../operation/parts.ts'
import { actorOfPerson, VOUCHED_MS } from '../people/person.ts'
import { forsakePerson, refreshPerson } from '../people/recognise-person.ts'
import { listRoles } from '../people/roles.ts'
import type { Keyring } from '../security/keyring.ts'
import {
  IssuerRefusal,
  type IssuerTokens,
  IssuerUnavailable,
  type OidcIssuer,
  type VerifiedIdentity,
} from '../security/oidc/oidc-issuer.ts'
import type { Database } from '../storage/database.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { ConsoleSession } from './console-session.ts'
import type { Issuers } from './issuers.ts'
import * as sessions from './store.ts'

/** The provider is asked this much earlier than necessary, so a slow answer delays no request. */
export const CONFIRM_EARLY_MS = 5 * 60_000
/** If a node dies while asking, other nodes can take over the session after this time. */
const ASKING_MS = 30_000
/** A provider that didn't respond is asked again after this time. */
const PAUSE_MS = 15_000

const TOKENS_PURPOSE = 'console.issuer_tokens'

type ConfirmParts = Pick<Parts, 'audit' | 'config' | 'keyring' | 'log' | 'newId' | 'now' | 'storage'> & {
  issuers: Issuers
}

export function sealTokens(tokens: IssuerTokens, keyring: Keyring): string {
  return keyring.encrypt(JSON.stringify(tokens), TOKENS_PURPOSE)
}

/** Undefined if the stored tokens are damaged, or were encrypted with a lost key. */
export function openTokens(sealed: string, keyring: Keyring): IssuerTokens | undefined {
  try {
    return JSON.parse(keyring.decrypt(sealed, TOKENS_PURPOSE)) as IssuerTokens
  } catch {
    return undefined
  }
}

/** Whether the session waits for its provider's confirmation: it hasn't ended, but isn't valid now. */
export function isUnconfirmed({ confirm_before, can_confirm }: ConsoleSession, now: number): boolean {
  return can_confirm === 1 && confirm_before !== null && confirm_before <= now
}

export function isToConfirm({ confirm_before, confirming_until }: ConsoleSession, now: number): boolean {
  return confirm_before !== null && confirm_before - CONFIRM_EARLY_MS <= now && confirming_until <= now
}

/**
 * Asks the identity provider whether the person is still signed in there, and which groups they now have. If the
 * provider no longer vouches for a session, the session is removed, because the provider can't be asked about it any
 * more. If the provider doesn't respond, the session stays as it is and ends in time.
 */
export async function confirmSession(session: ConsoleSession, parts: ConfirmParts): Promise<void> {
  const { storage, keyring, issuers, log, now } = parts
  const { id, person_id, issuer_subject, issuer_tokens, can_confirm } = session
  const issuer = issuers.find(session.issuer ?? '')
  if (person_id === null || issuer_subject === null || issuer_tokens === null) return
  if (!issuer) return remove(session, 'signOutByIssuer', parts)
  const tokens = openTokens(issuer_tokens, keyring)
  if (!tokens) {
    log.error({ session: id }, 'a stored console session is damaged (issuer_tokens), so it is ended')
    return remove(session, 'endDamagedSession', parts)
  }
  // The provider can't be asked. The session ends in time, and the browser is then sent to the provider again.
  if (can_confirm === 0) return
  // Many providers accept a refresh token only once, so only one node asks.
  const read = await sessions.find(storage.db, id)
  if (!read || read.confirm_before !== session.confirm_before) return
  if (!(await sessions.lease(storage.db, read, now(), now() + ASKING_MS))) return
  const vouched = await issuer.confirm(tokens, issuer_subject).catch((error) => {
    if (!(error instanceof IssuerUnavailable || error instanceof IssuerRefusal)) throw error
    log.warn({ issuer: issuer.settings.name, reason: error.message }, 'an identity provider did not confirm a session')
    return 'unanswered' as const
  })
  if (vouched === 'unanswered') {
    await storage.transaction((db) => sessions.updateIssuer(db, id, { confirming_until: now() + PAUSE_MS }))
    return
  }
  if (!('refused' in vouched)) return keep(session, person_id, vouched, issuer, parts)
  const isGone = tokens.is_offline === true && !isPerhapsSpent(read, vouched.refused)
  await remove(session, 'signOutByIssuer', parts, isGone ? issuer : undefined)
}

/**
 * Whether the refresh token may have been used up. Many providers accept one only once. If the reply to an earlier
 * request was lost because the node died or the network failed, `invalid_grant` may mean only that.
 */
function isPerhapsSpent({ confirming_until }: ConsoleSession, refused: string): boolean {
  return refused === 'invalid_grant' && confirming_until > 0
}

async function keep(
  { id }: ConsoleSession,
  person_id: string,
  { identity, tokens }: VerifiedIdentity,
  { settings }: OidcIssuer,
  { storage, keyring, audit, config, newId, log, now }: ConfirmParts,
): Promise<void> {
  const time = now()
  const occasion = { audit, request_id: newId('req', time), address: null, now: time }
  await storage.transaction(async (db) => {
    await refreshPerson(db, person_id, identity, settings, { ...occasion, config, newId, log })
    await sessions.updateIssuer(db, id, {
      issuer_tokens: sealTokens(tokens, keyring),
      confirm_before: time + VOUCHED_MS,
      confirming_until: 0,
    })
  })
}

/**
 * Removes a session. If `gone` is set, that provider no longer vouches for the person, so the roles from its groups end
 * too, unless another sign-in there can still be confirmed.
 */
async function remove(
  session: ConsoleSession,
  action: SessionEnd,
  parts: ConfirmParts,
  gone?: OidcIssuer,
): Promise<void> {
  const { storage, audit, newId } = parts
  const now = parts.now()
  const occasion = { audit, request_id: newId('req', now), address: null }
  await storage.transaction(async (db) => {
    if (!(await sessions.remove(db, session.id))) return
    if (session.expires_at > now) await recordEnd(db, session, { ...occasion, action })
    const { person_id, issuer } = session
    if (!gone || person_id === null || (await sessions.hasConfirmable(db, { person_id, issuer }))) return
    await forsakePerson(db, person_id, gone.settings, { ...parts, ...occasion, now })
  })
}

type SessionEnd = 'signOutByIssuer' | 'endDamagedSession'

/** Records in the audit log that a session has ended without a request by its person. */
export async function recordEnd(
  db: Database,
  { id, person_id }: ConsoleSession,
  { audit, ...event }: { audit: AuditTrail; action: SessionEnd; request_id: string; address: string | null },
): Promise<void> {
  if (person_id === null) return
  const actor = actorOfPerson(await listRoles(db, [person_id]))
  await audit.record(db, {
    ...event,
    actor: { kind: 'person', id: person_id, person_id },
    project_id: actor?.scope.project_id ?? DEFAULT_PROJECT,
    agent_id: null,
    target: id,
    fields: [],
    outcome: 'success',
  })
}
