import { LRUCache } from 'lru-cache'
import { isObject, parseIfJson } from '../lib/json.ts'
import type { Parts } from '../operation/parts.ts'
import type { ClientOrigin, KnownProvider } from '../security/oauth/oauth-client.ts'
import { type ClientIdentity, OAuthClient, registerClient } from '../security/oauth/oauth-client.ts'
import { findOAuthServer, type OAuthServer } from '../security/oauth/oauth-server.ts'
import { OAuthFailure } from '../security/oauth/provider-errors.ts'
import type { GuardedFetch } from '../security/outgoing/guarded-client.ts'
import type { Connection } from './connection.ts'
import { redirectUri, registrationPurpose, secretPurpose, sourceOf } from './connection.ts'
import * as connections from './store.ts'

const REMEMBERED = 500
const REMEMBERED_MS = 600_000

type ProviderParts = Pick<Parts, 'config' | 'fetch' | 'keyring' | 'log' | 'storage'>

/** The providers of connections. What they say of themselves is read again after ten minutes. */
export class ConnectionProviders {
  readonly #parts: ProviderParts
  readonly #servers = new LRUCache<string, Promise<OAuthServer>>({ max: REMEMBERED, ttl: REMEMBERED_MS })

  constructor(parts: ProviderParts) {
    this.#parts = parts
  }

  async open(connection: Connection, { isAgain = false } = {}): Promise<KnownProvider> {
    const fetch: GuardedFetch = (url, init) => this.#parts.fetch(url, { owner: connection.project_id, ...init })
    const server = await this.#serverOf(connection, fetch, isAgain)
    const { identity, origin } = await this.#identityIn(server, connection, fetch)
    const { issuer, revocation_endpoint } = server.metadata
    return {
      server,
      client: new OAuthClient(server, identity, fetch),
      client_id: identity.client_id,
      origin,
      issuer,
      scopes: connection.scopes.length > 0 ? connection.scopes : server.scopes,
      canRevoke: revocation_endpoint !== undefined,
    }
  }

  async #serverOf(connection: Connection, fetch: GuardedFetch, isAgain: boolean): Promise<OAuthServer> {
    const key = `${connection.id} ${connection.updated_at}`
    const known = isAgain ? undefined : this.#servers.get(key)
    if (known) return known
    const found = findOAuthServer(sourceOf(connection), fetch)
    this.#servers.set(key, found)
    found.catch(() => this.#servers.delete(key))
    return found
  }

  async #identityIn(
    server: OAuthServer,
    connection: Connection,
    fetch: GuardedFetch,
  ): Promise<{ identity: ClientIdentity; origin: ClientOrigin }> {
    const { keyring, config, storage } = this.#parts
    const { client_id, client_secret } = connection
    if (client_id !== null) {
      const opened = client_secret === null ? undefined : keyring.decrypt(client_secret, secretPurpose(connection))
      return { identity: { client_id, client_secret: opened }, origin: 'given' }
    }
    const { publicUrl } = config.server
    if (publicUrl === undefined) throw new OAuthFailure('unusable', 'server.publicUrl is not set')
    if (server.metadata['client_id_metadata_document_supported'] === true)
      return {
        identity: { client_id: clientDocumentUrl(publicUrl, connection), client_secret: undefined },
        origin: 'metadata_document',
      }
    const wanted = { issuer: server.metadata.issuer, redirect_uri: redirectUri(publicUrl, connection) }
    const known = this.#registered(connection, wanted)
    if (known) return { identity: known, origin: 'registered' }
    if (server.metadata.registration_endpoint === undefined)
      throw new OAuthFailure('unusable', 'the provider registers no clients, so the connection needs a client_id')
    const scopes = connection.scopes.length > 0 ? connection.scopes : server.scopes
    const registered = await registerClient(server, { ...wanted, client_name: 'Moorage', scopes }, fetch)
    const sealed = keyring.encrypt(JSON.stringify({ ...registered, ...wanted }), registrationPurpose(connection))
    // If another node has registered at the same time, its client is used by all.
    await storage.transaction((db) => connections.setRegistration(db, connection, sealed))
    const stored = await connections.findById(storage.db, connection.id)
    const identity = (stored && this.#registered(stored, wanted)) ?? registered
    return { identity, origin: 'registered' }
  }

  /** The client of an earlier registration, if it was with this provider and for this URL. */
  #registered(connection: Connection, wanted: { issuer: string; redirect_uri: string }): ClientIdentity | undefined {
    const { keyring, log } = this.#parts
    if (connection.registration === null) return undefined
    try {
      const read = parseIfJson(keyring.decrypt(connection.registration, registrationPurpose(connection)))
      if (!isObject(read) || read['issuer'] !== wanted.issuer || read['redirect_uri'] !== wanted.redirect_uri)
        return undefined
      const { client_id, client_secret } = read as { client_id: string; client_secret?: string }
      return { client_id, client_secret }
    } catch (err) {
      log.error({ err, connection: connection.id }, "a connection's registration can't be decrypted")
      return undefined
    }
  }
}

/** The URL is the client's ID, and its document describes the client. */
function clientDocumentUrl(publicUrl: string, { id }: Pick<Connection, 'id'>): string {
  return `${publicUrl}/connect/client/${id}`
}

export function clientDocument(publicUrl: string, connection: Pick<Connection, 'id'>): object {
  return {
    client_id: clientDocumentUrl(publicUrl, connection),
    client_name: 'Moorage',
    client_uri: publicUrl,
    redirect_uris: [redirectUri(publicUrl, connection)],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}
