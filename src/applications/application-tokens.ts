import { hash } from 'node:crypto'
import * as keys from '../keys/store.ts'
import type { Parts } from '../operation/parts.ts'
import { constantTimeEqual } from '../security/digest.ts'
import type { Database } from '../storage/database.ts'
import { ACCESS_MS, type Application, hashOf, newSecretOf, REFRESH_MS } from './application.ts'
import type { SignInOrigin } from './connect-application.ts'
import { endApplication } from './end-application.ts'
import * as applications from './store.ts'

export type CodeExchange = {
  code: string
  client_id: string
  redirect_uri: string
  code_verifier: string
  resource: string | undefined
}

export type TokenRefresh = { refresh_token: string; client_id: string; resource: string | undefined }

export type ApplicationTokens = { access_token: string; refresh_token: string; expires_in: number; resource: string }

/** Why there are no tokens. `isUnknown`: this code or token was never issued. */
export type NoTokens = { error: 'invalid_grant' | 'invalid_target'; reason: string; isUnknown: boolean }

type IssueParts = Pick<Parts, 'audit' | 'log' | 'now' | 'storage'>

/** Exchanges a code for the first tokens. Whatever is wrong, the code is spent. */
export function exchangeCode(asked: CodeExchange, origin: SignInOrigin, parts: IssueParts) {
  const { now, storage } = parts
  return storage.transaction(async (db): Promise<ApplicationTokens | NoTokens> => {
    const code_hash = hashOf('code', asked.code)
    const application = code_hash === undefined ? undefined : await applications.findByCode(db, code_hash)
    if (!application) return unknown('code')
    const { id, client_id, redirect_uri, code_challenge, code_expires_at } = application
    const time = now()
    // A code that comes twice was stolen, and the thief may have been first.
    if (!(await applications.connect(db, id, time)))
      return end(db, application, 'its code was used twice', origin, parts)
    const isProven = constantTimeEqual(hash('sha256', asked.code_verifier, 'base64url'), code_challenge)
    const isSame = asked.client_id === client_id && asked.redirect_uri === redirect_uri
    if (!isProven || !isSame) return end(db, application, 'its code was presented by another client', origin, parts)
    if (code_expires_at <= time) return end(db, application, undefined, origin, parts)
    if (isForeign(application, asked.resource)) return foreign(application)
    return issue(db, application, time)
  })
}

/** Exchanges a refresh token for new tokens. It can be used once: a second use ends the application. */
export function refreshTokens(asked: TokenRefresh, origin: SignInOrigin, parts: IssueParts) {
  const { now, storage } = parts
  return storage.transaction(async (db): Promise<ApplicationTokens | NoTokens> => {
    const token_hash = hashOf('refresh', asked.refresh_token)
    const found = token_hash === undefined ? undefined : await applications.findRefreshToken(db, token_hash)
    if (!found) return unknown('refresh token')
    const { token, application } = found
    const time = now()
    if (asked.client_id !== application.client_id) return unknown('refresh token')
    if (isForeign(application, asked.resource)) return foreign(application)
    if (token.expires_at <= time) return refused('The refresh token has expired.')
    if (!(await applications.spendRefreshToken(db, token.hash, time)))
      return end(db, application, 'its refresh token was used twice', origin, parts)
    return issue(db, application, time)
  })
}

/** Ends what a token belongs to (RFC 7009): an access token by itself, a refresh token with its application. */
export async function revokeToken(
  token: string,
  client_id: string,
  origin: SignInOrigin,
  parts: IssueParts,
): Promise<void> {
  const { now, storage } = parts
  const access = hashOf('access', token)
  const refresh = hashOf('refresh', token)
  await storage.transaction(async (db) => {
    if (access !== undefined) {
      const application = await applications.findByAccessToken(db, access)
      if (application?.client_id === client_id) await keys.removeSecret(db, application.id, access)
    }
    const found = refresh === undefined ? undefined : await applications.findRefreshToken(db, refresh)
    if (found?.application.client_id !== client_id) return
    const key = await keys.find(db, found.application.id)
    if (!key || key.revoked_at !== null) return
    await endApplication(db, key.id, now())
    await record(db, found.application, origin, parts)
  })
}

/** Gives new tokens, unless the application has ended with its person or key. */
async function issue(db: Database, { id, resource }: Application, now: number): Promise<ApplicationTokens | NoTokens> {
  const key = await keys.find(db, id)
  const until = key?.expires_at ?? Number.POSITIVE_INFINITY
  if (!key || key.revoked_at !== null || until <= now) return refused('The access to this service has ended.')
  const access_token = newSecretOf('access')
  const refresh_token = newSecretOf('refresh')
  const expires_at = Math.min(now + ACCESS_MS, until)
  await keys.removeEarlierSecrets(db, id, now)
  await keys.insertEarlierSecret(db, { hash: hashOf('access', access_token) ?? '', key_id: id, expires_at })
  await applications.removeExpiredTokens(db, id, now)
  const refresh = { hash: hashOf('refresh', refresh_token) ?? '', expires_at: now + REFRESH_MS }
  await applications.insertRefreshToken(db, { ...refresh, application_id: id, used_at: null })
  return { access_token, refresh_token, expires_in: Math.floor((expires_at - now) / 1000), resource }
}

/** Ends an application whose secrets may be in the wrong hands. Its person has to connect it again. */
async function end(
  db: Database,
  application: Application,
  why: string | undefined,
  origin: SignInOrigin,
  parts: IssueParts,
): Promise<NoTokens> {
  const key = await keys.find(db, application.id)
  if (why !== undefined)
    parts.log.warn({ application: application.id, reason: why }, 'a connected application was ended')
  if (key?.revoked_at === null) {
    await endApplication(db, application.id, parts.now())
    if (why !== undefined) await record(db, application, origin, parts)
  }
  return refused('The code or token is no longer valid. Connect the application again.')
}

async function record(
  db: Database,
  { id, person_id }: Application,
  { request_id, address }: SignInOrigin,
  { audit }: Pick<IssueParts, 'audit'>,
): Promise<void> {
  const key = await keys.get(db, id)
  await audit.record(db, {
    actor: { kind: 'key', id, ...(person_id !== null && { person_id }) },
    action: 'endConnectedApplication',
    project_id: key.project_id ?? '',
    agent_id: key.agent_id,
    target: id,
    request_id,
    address,
    fields: [],
    outcome: 'success',
  })
}

function isForeign({ resource }: Application, asked: string | undefined): boolean {
  return asked !== undefined && asked.replace(/\/$/, '') !== resource
}

function foreign({ resource }: Application): NoTokens {
  return { error: 'invalid_target', reason: `These tokens are only for ${resource}.`, isUnknown: false }
}

function unknown(what: string): NoTokens {
  return { error: 'invalid_grant', reason: `The ${what} is not valid.`, isUnknown: true }
}

function refused(reason: string): NoTokens {
  return { error: 'invalid_grant', reason, isUnknown: false }
}
