import type { Key } from '../keys/key.ts'
import type { Actor } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { type Application, hashOf } from './application.ts'
import { type CodeExchange, exchangeCode, refreshTokens, revokeToken, type TokenRefresh } from './application-tokens.ts'
import { type ApplicationRequest, connectApplication, type SignInOrigin } from './connect-application.ts'
import * as applications from './store.ts'

type ApplicationParts = Pick<Parts, 'audit' | 'config' | 'log' | 'memo' | 'newId' | 'now' | 'storage'>

/** A valid key, by the hash of one of its secrets. */
type ApplicationKeys = { verify(hash: string): Promise<{ key: Key; actor: Actor; until: number } | undefined> }

/** What the edge needs to know about connected applications: who they act for, and their tokens. */
export class OpenApplications {
  readonly #keys: ApplicationKeys
  readonly #parts: ApplicationParts

  constructor(keys: ApplicationKeys, parts: ApplicationParts) {
    this.#keys = keys
    this.#parts = parts
  }

  /** Who sends an access token, and the only URL at which it is accepted. */
  async find(token: string) {
    const hash = hashOf('access', token)
    const verified = hash === undefined ? undefined : await this.#keys.verify(hash)
    const application = verified && (await this.#findApplication(verified.key.id))
    if (hash === undefined || !application) return undefined
    const { person_id, user_id, resource } = application
    const { actor: ofKey } = verified
    const scope = { ...ofKey.scope, user_id }
    const actor: Actor = { ...ofKey, scope, ...(person_id !== null && { person_id }) }
    return { key: { hash, verified }, actor, resource }
  }

  /** The application of a code or a refresh token, whether or not it can still be exchanged. */
  async findBySecret(kind: 'code' | 'refresh', secret: string): Promise<string | undefined> {
    const { db } = this.#parts.storage
    const hash = hashOf(kind, secret)
    if (hash === undefined) return undefined
    if (kind === 'code') return (await applications.findByCode(db, hash))?.id
    return (await applications.findRefreshToken(db, hash))?.application.id
  }

  /** Connects an application. Returns its code. */
  connect(asked: ApplicationRequest, actor: Actor, origin: SignInOrigin): Promise<string> {
    return connectApplication(asked, actor, origin, this.#parts)
  }

  exchange(asked: CodeExchange, origin: SignInOrigin): ReturnType<typeof exchangeCode> {
    return exchangeCode(asked, origin, this.#parts)
  }

  refresh(asked: TokenRefresh, origin: SignInOrigin): ReturnType<typeof refreshTokens> {
    return refreshTokens(asked, origin, this.#parts)
  }

  revoke(token: string, client_id: string, origin: SignInOrigin): Promise<void> {
    return revokeToken(token, client_id, origin, this.#parts)
  }

  #findApplication(id: string): Promise<Application | undefined> {
    const { memo, storage } = this.#parts
    // It ends with its key, which is announced.
    return Promise.resolve(
      memo(
        'keys',
        `application ${id}`,
        () => applications.find(storage.db, id),
        () => [id],
      ),
    )
  }
}
