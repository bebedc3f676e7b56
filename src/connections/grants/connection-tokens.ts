import { setTimeout as delay } from 'node:timers/promises'
import type { Parts } from '../../operation/parts.ts'
import type {
  ConnectionSource,
  ConnectionState,
  MissingGrant,
  RefusedUse,
  ScopesNeeded,
  SignInLink,
  TokenUser,
} from '../../runtime/tools/connections/connected.ts'
import type { KnownProvider } from '../../security/oauth/oauth-client.ts'
import { OAuthFailure } from '../../security/oauth/provider-errors.ts'
import { newOwner } from '../../storage/leases/lease.ts'
import type { Connection } from '../connection.ts'
import { MAX_SCOPES, OAuthScope, PROJECT } from '../connection.ts'
import { LINK_MS, linkUrl } from '../links/connection-link.ts'
import * as links from '../links/link-store.ts'
import * as connections from '../store.ts'
import { type ConnectionGrant, type GrantTokens, openTokens, sealTokens } from './connection-grant.ts'
import { revokeAtProvider } from './end-grants.ts'
import { endedEvent } from './grant-events.ts'
import * as grants from './grant-store.ts'

/** Tokens are refreshed this long before they expire, or in the last quarter of a short life. */
const EARLY_MS = 60_000
/** Longer than a refresh with all its time limits. */
const LEASE_MS = 30_000
const MAX_WAIT_MS = 25_000
/** How long a call waits for a refresh. Only a database that is away takes longer. */
const PATIENCE_MS = LEASE_MS + MAX_WAIT_MS
const FIRST_LOOK_MS = 25
const LONGEST_LOOK_MS = 500

type TokenParts = Pick<
  Parts,
  'config' | 'connectionProviders' | 'events' | 'keyring' | 'log' | 'memo' | 'newId' | 'node' | 'now' | 'storage'
>

/** What became of a refresh. */
type Refresh = { grant: ConnectionGrant } | { failed: string } | 'ended'

/** The tokens of connections, fresh when tools use them. Over all nodes, one refreshes a grant at a time. */
export class ConnectionTokens implements ConnectionSource {
  readonly #parts: TokenParts
  /** By grant and version. */
  readonly #refreshing = new Map<string, Promise<Refresh>>()

  constructor(parts: TokenParts) {
    this.#parts = parts
  }

  async use(whose: TokenUser, name: string, refused?: string): Promise<ConnectionState> {
    const held = await this.#holderOf(whose, name)
    if ('why' in held) return held
    const { connection, ...missing } = held
    const grant = await grants.findActive(this.#parts.storage.db, missing)
    if (!grant) return missing
    return this.#fresh(grant, connection, missing, refused)
  }

  async widen(whose: TokenUser, name: string, needed: ScopesNeeded): Promise<MissingGrant | RefusedUse> {
    const held = await this.#holderOf(whose, name)
    if ('why' in held) return held
    const { connection, ...missing } = held
    const { scopes } = needed
    const refused = (why: string): RefusedUse => ({ state: 'refused', why })
    if (scopes.length === 0 || scopes.length > MAX_SCOPES || !scopes.every((one) => OAuthScope.safeParse(one).success))
      return refused(`The user has not allowed enough in ${name}, and the server doesn't say what it needs`)
    const told = scopes.join(' ')
    // The operator has decided what users are asked for.
    if (connection.kind !== 'mcp' || connection.scopes.length > 0)
      return refused(`The server needs the scopes ${told}, which are not among those of the connection ${name}`)
    return this.#parts.storage.transaction(async (db) => {
      const grant = await grants.findActive(db, missing, { isLocked: true })
      if (!grant) return missing
      if (openTokens(grant, this.#parts.keyring)?.access_token !== needed.token)
        return refused(`The sign-in to ${name} has changed during the call. Make the call again`)
      const asked = new Set([...grant.scopes, ...grant.asked_scopes])
      if (scopes.every((one) => asked.has(one))) return refused(`The user has not allowed ${told} in ${name}`)
      const wanted = [...new Set([...grant.wanted_scopes, ...scopes])]
      if (wanted.length > MAX_SCOPES) return refused(`The server needs more than ${MAX_SCOPES} scopes`)
      await grants.want(db, grant.id, wanted)
      return { ...missing, grant_id: grant.id }
    })
  }

  /** Whose sign-in a run uses. */
  async #holderOf(
    { project_id, user_id }: TokenUser,
    name: string,
  ): Promise<RefusedUse | (MissingGrant & { connection: Connection })> {
    const connection = await this.#find(project_id, name)
    if (!connection) return { state: 'refused', why: `The connection ${name} doesn't exist` }
    const holder = connection.acts_as === 'service' ? PROJECT : user_id
    if (holder === undefined || (holder === PROJECT && connection.acts_as === 'user'))
      return { state: 'refused', why: `The connection ${name} acts for a user, and this run has no user` }
    return { state: 'missing', connection_id: connection.id, holder, connection }
  }

  async link(
    { connection_id, holder }: { connection_id: string; holder: string },
    { known = null, isForProject = false, isOver = false }: Parameters<ConnectionSource['link']>[1] = {},
  ): Promise<SignInLink> {
    const { config, keyring, now, newId, storage } = this.#parts
    const { publicUrl } = config.server
    const connection = await connections.findById(storage.db, connection_id)
    const name = connection?.name ?? ''
    const isHidden = holder === PROJECT && !isForProject
    if (isOver || isHidden || publicUrl === undefined || !connection) return { name, link_id: null, url: null }
    const time = now()
    const shown = (link_id: string) => ({ name, link_id, url: linkUrl(publicUrl, link_id, keyring) })
    if (known !== null && (await this.#isUsable(known, time))) return shown(known)
    const earlier = await links.findOwn(storage.db, { connection_id, holder, until: time + LINK_MS / 2 })
    if (earlier) return shown(earlier.id)
    const link = {
      id: newId('lnk', time),
      project_id: connection.project_id,
      connection_id,
      holder,
      return_to: null,
      created_by: links.BY_RUN,
      created_at: time,
      expires_at: time + LINK_MS,
      spent_at: null,
    }
    await storage.transaction((db) => links.insert(db, link))
    return shown(link.id)
  }

  /** A link that was used stays, because the application still has to confirm who used it. */
  async #isUsable(link_id: string, time: number): Promise<boolean> {
    const { db } = this.#parts.storage
    const link = await links.find(db, link_id)
    if (!link) return false
    if (link.spent_at === null) return link.expires_at > time
    return (await grants.findOfLink(db, link_id))?.status === 'pending'
  }

  async #find(project_id: string, name: string): Promise<Connection | undefined> {
    const { memo, storage } = this.#parts
    const known = await memo(
      'connections',
      `${project_id} ${name}`,
      async () => ({ connection: await connections.find(storage.db, { project_id, name }) }),
      () => [project_id],
    )
    return known?.connection
  }

  async #fresh(
    grant: ConnectionGrant,
    connection: Connection,
    missing: MissingGrant,
    refused: string | undefined,
  ): Promise<ConnectionState> {
    const { keyring, log, now } = this.#parts
    const tokens = openTokens(grant, keyring)
    if (!tokens) {
      log.error(
        { grant: grant.id },
        "the tokens of a grant can't be decrypted; restore them, or have the user sign in again",
      )
      return { state: 'refused', why: `The sign-in to ${connection.name} is stored, but can't be decrypted` }
    }
    const ready = { state: 'ready' as const, token: tokens.access_token, hosts: connection.hosts, grant_id: grant.id }
    const isExpired = grant.expires_at !== null && grant.expires_at <= now()
    if (refused !== tokens.access_token && !isOld(grant, now())) return ready
    if (!grant.can_refresh) {
      if (!isExpired) return ready
      await this.#end(grant, connection, 'no_refresh_token')
      return missing
    }
    const refresh = await this.#refreshOnce(grant, connection, tokens)
    if (refresh === 'ended') return missing
    if ('failed' in refresh) {
      // The provider may be back before the token expires.
      if (!isExpired && refused === undefined) return ready
      return { state: 'refused', why: `The sign-in to ${connection.name} could not be renewed: ${refresh.failed}` }
    }
    const renewed = openTokens(refresh.grant, keyring)
    return renewed ? { ...ready, token: renewed.access_token } : missing
  }

  /** Calls of this node share a refresh. It continues when a call no longer waits for it. */
  async #refreshOnce(grant: ConnectionGrant, connection: Connection, tokens: GrantTokens): Promise<Refresh> {
    const key = `${grant.id} ${grant.version}`
    const refreshing =
      this.#refreshing.get(key) ?? this.#refresh(grant, connection, tokens).finally(() => this.#refreshing.delete(key))
    this.#refreshing.set(key, refreshing)
    const left = new AbortController()
    const late: Refresh = { failed: 'the new tokens are not stored yet' }
    try {
      return await Promise.race([refreshing, delay(PATIENCE_MS, late, { ref: false, signal: left.signal })])
    } finally {
      left.abort()
    }
  }

  async #refresh(grant: ConnectionGrant, connection: Connection, tokens: GrantTokens): Promise<Refresh> {
    const { connectionProviders, node, now, storage } = this.#parts
    let provider: KnownProvider
    try {
      // Before the lease: finding the provider may take longer than a lease lasts.
      provider = await connectionProviders.open(connection)
    } catch (error) {
      return failureOf(error)
    }
    const until = now() + MAX_WAIT_MS
    for (let look_ms = FIRST_LOOK_MS; ; look_ms = Math.min(look_ms * 2, LONGEST_LOOK_MS)) {
      const owner = newOwner(node)
      const taken = await grants.takeToRefresh(storage.db, grant, { owner, now: now(), lease_ms: LEASE_MS })
      if (taken) {
        const renewed = await this.#ask(taken.grant, connection, tokens, provider)
        if (!('grant' in Object(renewed))) await grants.giveBack(storage.db, taken.lease)
        return renewed
      }
      const current = await grants.findActive(storage.db, grant)
      if (current?.id !== grant.id) return 'ended'
      // Another node has refreshed it.
      if (current.version !== grant.version) return { grant: current }
      if (now() > until) return { failed: 'another node is still renewing it' }
      await delay(look_ms)
    }
  }

  async #ask(
    grant: ConnectionGrant,
    connection: Connection,
    tokens: GrantTokens,
    { client, client_id, issuer }: KnownProvider,
  ): Promise<Refresh> {
    const { keyring, now } = this.#parts
    // A refresh token is never shown to another provider than the one that gave it.
    if (tokens.issuer !== issuer || tokens.client_id !== client_id) {
      await this.#end(grant, connection, 'provider_changed')
      return 'ended'
    }
    try {
      const {
        access_token,
        refresh_token = tokens.refresh_token,
        expires_in,
      } = await client.refresh(tokens.refresh_token ?? '')
      const time = now()
      const sealed = sealTokens(grant.id, { ...tokens, access_token, refresh_token }, keyring)
      const renewed = await grants.putPatiently(this.#parts.storage.db, grant, {
        tokens: sealed,
        can_refresh: refresh_token === undefined ? 0 : 1,
        expires_at: expires_in === undefined ? null : time + expires_in * 1000,
        updated_at: time,
      })
      if (renewed) return { grant: renewed }
      const current = await grants.findActive(this.#parts.storage.db, grant)
      if (current?.id === grant.id) return { grant: current }
      // The grant has ended during the refresh, so the provider was told of the old tokens only. If the user has signed
      // in again, it isn't told, because it might end the new sign-in too.
      if (!current) await revokeAtProvider([{ ...grant, tokens: sealed }], connection, this.#parts)
      return 'ended'
    } catch (error) {
      if (!(error instanceof OAuthFailure) || error.code !== 'invalid_grant') return failureOf(error)
      const current = await this.#end(grant, connection, 'invalid_grant')
      return current ? { grant: current } : 'ended'
    }
  }

  /** Ends the grant, unless it has other tokens by now. Then returns it. */
  #end(grant: ConnectionGrant, connection: Connection, ended_reason: string): Promise<ConnectionGrant | undefined> {
    const { events, log, now, storage } = this.#parts
    return storage.transaction(async (db) => {
      const current = await grants.findActive(db, grant, { isLocked: true })
      if (current?.id !== grant.id) return undefined
      if (current.version !== grant.version) return current
      await grants.end(db, grant.id, { status: 'expired', ended_reason, updated_at: now() })
      await events.emit(db, endedEvent(current, connection, { status: 'expired', reason: ended_reason, time: now() }))
      log.info({ grant: grant.id, connection: connection.name, reason: ended_reason }, 'a grant has ended')
      return undefined
    })
  }
}

function isOld({ expires_at, updated_at }: ConnectionGrant, now: number): boolean {
  if (expires_at === null) return false
  return expires_at - Math.min(EARLY_MS, (expires_at - updated_at) / 4) <= now
}

function failureOf(error: unknown): { failed: string } {
  if (error instanceof OAuthFailure) return { failed: error.message }
  throw error
}
