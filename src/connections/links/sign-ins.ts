import { ApiError, conflict, notFound, unavailable } from '../../errors.ts'
import type { Parts } from '../../operation/parts.ts'
import { constantTimeEqual, sha256 } from '../../security/digest.ts'
import type { SignInChecks } from '../../security/oauth/oauth-client.ts'
import { OAuthFailure } from '../../security/oauth/provider-errors.ts'
import type { Connection } from '../connection.ts'
import { redirectUri, requirePublicUrl } from '../connection.ts'
import { scopesToAsk, sealTokens } from '../grants/connection-grant.ts'
import * as grants from '../grants/grant-store.ts'
import { clientDocument } from '../provider-of.ts'
import * as connections from '../store.ts'
import { type ConnectionLink, linkCode, returnUrl } from './connection-link.ts'
import * as links from './link-store.ts'

type SignInParts = Pick<Parts, 'config' | 'connectionProviders' | 'keyring' | 'log' | 'newId' | 'now' | 'storage'>

/** What the browser keeps, encrypted, while its user is at the provider. */
export type SignInAttempt = {
  connection_id: string
  link_id: string
  checks: SignInChecks
  /** What the user was asked for, as `scopeDigest`: runs may want more meanwhile, and a cookie has little room. */
  asked: string[]
}

export type SignInEnd = { connection: string; status: 'ok' | 'denied'; return_to: string | undefined }

/** Users sign in with providers: a link sends them there, and the provider sends them back. */
export class SignIns {
  readonly #parts: SignInParts

  constructor(parts: SignInParts) {
    this.#parts = parts
  }

  /** Where the browser that opened a link goes. */
  async begin(link_id: string, code: string): Promise<{ url: string; attempt: SignInAttempt }> {
    const { config, connectionProviders, keyring, now } = this.#parts
    const publicUrl = requirePublicUrl(config.server.publicUrl)
    if (!constantTimeEqual(code, linkCode(link_id, keyring))) throw notFound('Link', link_id)
    const { link, connection } = await this.#find(link_id)
    if (link.expires_at <= now()) throw conflict('This link has expired. Ask for another one.')
    try {
      const { client, scopes } = await connectionProviders.open(connection)
      const asked = scopesToAsk(scopes, await grants.findActive(this.#parts.storage.db, link))
      const { url, checks } = await client.begin(redirectUri(publicUrl, connection), asked)
      return { url, attempt: { connection_id: connection.id, link_id, checks, asked: asked.map(scopeDigest) } }
    } catch (error) {
      throw this.#failed(error, connection)
    }
  }

  /** The browser is back. `callback` is the URL that it has opened. */
  async finish(connection_id: string, attempt: SignInAttempt, callback: URL): Promise<SignInEnd> {
    const { connectionProviders, keyring, newId, now, storage } = this.#parts
    // An answer that was meant for another connection would be shown to the wrong provider.
    if (attempt.connection_id !== connection_id) throw conflict('This sign-in belongs to another connection.')
    const { link, connection } = await this.#find(attempt.link_id)
    const ended = (status: SignInEnd['status']): SignInEnd => {
      const told = { connection: connection.name, link_id: link.id, status }
      return {
        connection: connection.name,
        status,
        return_to: link.return_to === null ? undefined : returnUrl(link.return_to, told),
      }
    }
    try {
      const { client, client_id, issuer, scopes } = await connectionProviders.open(connection)
      const wanted = scopesToAsk(scopes, await grants.findActive(storage.db, link))
      const asked = wanted.filter((scope) => attempt.asked.includes(scopeDigest(scope)))
      const given = await client.finish(callback, attempt.checks)
      const time = now()
      const id = newId('grt', time)
      const { access_token, refresh_token, expires_in } = given
      const grant = {
        id,
        project_id: connection.project_id,
        connection_id,
        holder: link.holder,
        status: 'pending' as const,
        link_id: link.id,
        tokens: sealTokens(id, { access_token, refresh_token, issuer, client_id }, keyring),
        version: 1,
        can_refresh: refresh_token === undefined ? 0 : 1,
        expires_at: expires_in === undefined ? null : time + expires_in * 1000,
        scopes: given.scopes ?? asked,
        asked_scopes: asked,
        wanted_scopes: [],
        wrong_users: 0,
        created_at: time,
        updated_at: time,
        confirmed_by: null,
        ended_reason: null,
        owner: null,
        lease_until: null,
      }
      await storage.transaction(async (db) => {
        if (!(await links.spend(db, link.id, time))) throw spent()
        await grants.insert(db, grant)
      })
      return ended('ok')
    } catch (error) {
      if (error instanceof OAuthFailure && error.code === 'access_denied') return ended('denied')
      throw this.#failed(error, connection)
    }
  }

  /** What providers read about this service, as the client of one connection. */
  async describeClient(connection_id: string): Promise<object> {
    const publicUrl = requirePublicUrl(this.#parts.config.server.publicUrl)
    const connection = await connections.findById(this.#parts.storage.db, connection_id)
    if (!connection) throw notFound('Connection', connection_id)
    return clientDocument(publicUrl, connection)
  }

  async #find(link_id: string): Promise<{ link: ConnectionLink; connection: Connection }> {
    const { db } = this.#parts.storage
    const link = await links.find(db, link_id)
    if (!link) throw notFound('Link', link_id)
    if (link.spent_at !== null) throw spent()
    const connection = await connections.findById(db, link.connection_id)
    if (!connection) throw notFound('Link', link_id)
    return { link, connection }
  }

  #failed(error: unknown, { id, name }: Connection): unknown {
    if (!(error instanceof OAuthFailure)) return error
    const { kind, message, cause } = error
    this.#parts.log.warn({ err: cause ?? error, connection: id, reason: message }, 'a user could not sign in')
    if (kind === 'unavailable') return unavailable(`The provider of ${name} doesn't respond. Try again shortly.`, 5_000)
    return new ApiError('conflict', `Signing in to ${name} failed: ${message}.`)
  }
}

function scopeDigest(scope: string): string {
  return sha256(scope).slice(0, 12)
}

function spent(): ApiError {
  return conflict('This link has already been used.')
}
