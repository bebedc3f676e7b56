import { unavailable } from '../errors.ts'
import * as factors from '../keys/factors/factor-store.ts'
import type { Key } from '../keys/key.ts'
import * as keys from '../keys/store.ts'
import type { Actor } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { actorOfPerson, endOfRole, type Role } from '../people/person.ts'
import { listRoles } from '../people/roles.ts'
import * as people from '../people/store.ts'
import * as projects from '../projects/store.ts'
import { sha256 } from '../security/digest.ts'
import type { EndedThere } from '../security/oidc/logout-token.ts'
import type { OidcIssuer, VerifiedIdentity } from '../security/oidc/oidc-issuer.ts'
import { covers, coversAll } from '../security/permissions.ts'
import {
  CONFIRM_EARLY_MS,
  confirmSession,
  isToConfirm,
  isUnconfirmed,
  openTokens,
  recordEnd,
} from './confirm-session.ts'
import { type ConsoleSession, endOf, isSecretInForce, useOf } from './console-session.ts'
import { Issuers } from './issuers.ts'
import { actorOfKey, type Credential, newSecret, type SignInFrom, type SignInParts, signIn } from './sign-in.ts'
import { type DeviceFrom, signInDevice } from './sign-in-device.ts'
import { signInPerson, withSession } from './sign-in-person.ts'
import * as sessions from './store.ts'

type DeviceSignIn = [vouched: VerifiedIdentity, issuer: OidcIssuer, from: DeviceFrom]
type PersonSignIn = [vouched: VerifiedIdentity, issuer: OidcIssuer, from: SignInFrom, invitation?: string]

/** The request with which a session was used. */
type Origin = { request_id: string; address: string }

/** A session, with the key that opened it or the roles of its person. */
type CachedSession = { session: ConsoleSession; key: Key | undefined; roles: readonly Role[] }

/** A cached session is dropped when it changes, or when its key, its person or the key's agent changes. */
function subjectsOf({ session: { id, key_id, person_id }, key }: CachedSession): string[] {
  return [id, key_id, person_id, key?.agent_id].filter((subject) => typeof subject === 'string')
}

/** Undefined if the person no longer has a role. */
function actorOfSession({ session, key, roles }: CachedSession, now: number): Actor | undefined {
  if (key) return actorOfKey(key, session)
  const actor = actorOfPerson(roles.filter((role) => endOfRole(role, session.issuer ?? undefined) > now))
  return actor && withSession(actor, session)
}

/** `noteUse` records that a request of the console has used its key. */
type ConsoleParts = SignInParts &
  Pick<Parts, 'errands' | 'keyring' | 'log' | 'memo'> & { noteUse(key_id: string): void }

/** The sessions of the console. Sessions in use are cached, like keys. */
export class OpenConsole {
  readonly #parts: ConsoleParts & { issuers: Issuers }
  readonly #idleTimeout: number

  constructor(parts: ConsoleParts) {
    this.#parts = { ...parts, issuers: new Issuers(parts.config, parts.now) }
    this.#idleTimeout = parts.config.console.idleTimeout
  }

  signIn(credential: Credential, from: SignInFrom): ReturnType<typeof signIn> {
    return signIn(this.#parts, credential, from)
  }

  /** The actor for a cookie's secret. If `fresh` is set, the browser must get that secret from now on. */
  async use(
    secret: string,
    from: Origin & { secure: boolean },
  ): Promise<{ actor: Actor; fresh: string | undefined } | undefined> {
    const { storage, now, noteUse } = this.#parts
    const hash = sha256(secret)
    const found = await this.#findConfirmed(hash)
    if (!found) return undefined
    const { session, key } = found
    const time = now()
    const actor = actorOfSession(found, time)
    if (!actor || endOf(session, key, this.#idleTimeout) <= time) return undefined
    // If a secret that was sent over TLS arrives over plain HTTP, it may have been intercepted.
    if (session.secure === 1 && !from.secure) return undefined
    if (!isSecretInForce(session, hash, time)) {
      // Two browsers have the cookie, so one of them stole it.
      await this.#end(actor, from, 'endStolenSession')
      return undefined
    }
    noteUse(actor.id)
    let fresh: string | undefined
    const changes = useOf(session, hash, time, () => sha256((fresh = newSecret())))
    if (!changes) return { actor, fresh }
    const isWritten = await storage.transaction((db) => sessions.update(db, session, changes))
    return { actor, fresh: isWritten ? fresh : undefined }
  }

  /** What the console shows about its current session. */
  async describe(actor: Actor) {
    const { id, person_id = '', console_session = '' } = actor
    const { db } = this.#parts.storage
    const [key, person, session, factor, offered, isAnyKnown] = await Promise.all([
      keys.get(db, id),
      people.find(db, person_id),
      sessions.find(db, console_session),
      factors.find(db, id, 'active'),
      this.#projectsOf(actor),
      people.isAny(db),
    ])
    const issuers = this.issuers()
    return {
      session_id: console_session,
      actor_id: id,
      key: person ? null : { id: key.id, name: key.name, hint: key.hint },
      person: person ? { id: person.id, name: person.name, email: person.email, role: key.role } : null,
      expires_at: session?.expires_at ?? this.#parts.now(),
      idle_seconds: this.#idleTimeout / 1000,
      has_factor: factor !== undefined,
      projects: offered,
      issuers,
      has_people: issuers.length > 0 || isAnyKnown,
    }
  }

  /** The identity providers that the sign-in page offers. */
  issuers(): { name: string; label: string }[] {
    return this.#parts.issuers.list()
  }

  findIssuer(name: string): OidcIssuer | undefined {
    return this.#parts.issuers.find(name)
  }

  signInPerson(...[vouched, issuer, from, invitation]: PersonSignIn): ReturnType<typeof signInPerson> {
    return signInPerson(this.#parts, vouched, issuer, from, invitation)
  }

  signInDevice(...[vouched, issuer, from]: DeviceSignIn): ReturnType<typeof signInDevice> {
    return signInDevice(this.#parts, vouched, issuer, from)
  }

  /**
   * Revokes the identity provider's tokens if no keys need them, and returns where the browser also signs out there.
   */
  async #leaveIssuer(session: ConsoleSession | undefined, back: string): Promise<string | undefined> {
    const { keyring, log, issuers, storage } = this.#parts
    const issuer = issuers.find(session?.issuer ?? '')
    if (!issuer || !session || session.issuer_tokens === null) return undefined
    const tokens = openTokens(session.issuer_tokens, keyring)
    if (!tokens) return undefined
    const warn = (err: unknown) => {
      log.warn({ err, issuer: session.issuer }, 'a person could not be signed out at their identity provider')
    }
    if (!(await sessions.find(storage.db, session.id))) await issuer.revoke(tokens).catch(warn)
    return (await issuer.signOutUrl(tokens, back).catch(warn)) ?? undefined
  }

  /** Ends a person's sessions that the provider opened: one of them, or all. */
  async endOfIssuer(issuer: string, whose: EndedThere, { request_id, address }: Origin): Promise<void> {
    const { storage, audit, now } = this.#parts
    const event = { audit, action: 'signOutByIssuer', request_id, address } as const
    await storage.transaction(async (db) => {
      for (const session of await sessions.listOfIssuer(db, issuer, whose, now())) {
        if (await sessions.end(db, session.id, now())) await recordEnd(db, session, event)
      }
    })
  }

  /**
   * Asks the identity providers about sessions in use and about people with keys, so that streams and keys also end
   * when a right ends there. A session that was asked about is no longer due, whether the provider answered or not.
   */
  async confirmDue(): Promise<void> {
    const { storage, now } = this.#parts
    for (let due = sessions.MOST_TO_CONFIRM; due === sessions.MOST_TO_CONFIRM; ) {
      const time = now()
      const limits = { before: time + CONFIRM_EARLY_MS, used_since: time - this.#idleTimeout, now: time }
      const listed = await sessions.listToConfirm(storage.db, limits)
      await Promise.all(listed.map((session) => confirmSession(session, this.#parts)))
      due = listed.length
    }
  }

  /** When the actor's session ends if it isn't used again. 0 if it has already ended. */
  async validUntil({ id, person_id = id, permissions, console_session = '' }: Actor): Promise<number> {
    const { memo, storage } = this.#parts
    const load = async () => {
      const [held, session] = await Promise.all([keys.find(storage.db, id), sessions.find(storage.db, console_session)])
      return held && session && { held, session }
    }
    const subjects = [console_session, id, person_id]
    const found = await memo('keys', `console session ${console_session} ${id}`, load, () => subjects)
    // A role has no secret that could change, but it must not have ended or allow less than before.
    if (!found || found.held.revoked_at !== null || !coversAll(found.held.permissions, permissions)) return 0
    const { held, session } = found
    if (session.person_id === null) return endOf(session, held, this.#idleTimeout)
    return Math.min(endOf(session, undefined, this.#idleTimeout), endOfRole(held, session.issuer ?? undefined))
  }

  /**
   * Ends the session. Returns where the browser also signs out at the identity provider; `back` is where it then
   * returns.
   */
  async signOut(actor: Actor, from: Origin, back: string): Promise<string | undefined> {
    const session = await sessions.find(this.#parts.storage.db, actor.console_session ?? '')
    await this.#end(actor, from, 'signOut')
    return this.#leaveIssuer(session, back)
  }

  /** Ends the session that a browser had before it went to a provider. `by` is the actor who came back. */
  async endEarlier(secret: string, by: Actor, from: Origin): Promise<void> {
    const session = await sessions.findByHash(this.#parts.storage.db, sha256(secret))
    if (session) await this.#end({ ...by, console_session: session.id }, from, 'signOut')
  }

  async #load(hash: string): Promise<CachedSession | undefined> {
    const { db } = this.#parts.storage
    const session = await sessions.findByHash(db, hash)
    if (!session) return undefined
    if (session.person_id !== null) {
      return { session, key: undefined, roles: await listRoles(db, [session.person_id]) }
    }
    const key = await keys.find(db, session.key_id ?? '')
    return key && { session, key, roles: [] }
  }

  /** The session of a secret. If its identity provider must confirm it first, the provider is asked. */
  async #findConfirmed(hash: string): Promise<CachedSession | undefined> {
    const { errands, memo, now } = this.#parts
    const find = () => memo('keys', `console ${hash}`, () => this.#load(hash), subjectsOf)
    const found = await find()
    if (!found || found.session.confirm_before === null) return found
    const isLate = found.session.confirm_before <= now()
    if (isToConfirm(found.session, now())) {
      const confirm = () => confirmSession(found.session, this.#parts)
      if (isLate) await confirm()
      else errands.begin('confirming a session', confirm)
    }
    if (!isLate) return found
    const present = await find()
    // The session continues when the provider responds again, so the browser must keep its cookie.
    if (present && isUnconfirmed(present.session, now())) {
      throw unavailable(
        "Your identity provider isn't responding, so your session can't be confirmed. Try again shortly.",
        5_000,
      )
    }
    return present
  }

  /** The projects from which the console offers to choose. */
  async #projectsOf({ reach, permissions, roles }: Actor): Promise<{ id: string; name: string }[]> {
    if (roles) return projects.listToChoose(this.#parts.storage.db, [...roles.keys()])
    const maySee = reach === 'service' && covers(permissions, 'read')
    return maySee ? projects.listToChoose(this.#parts.storage.db) : []
  }

  /** Ends a session immediately, on every node. */
  async #end(actor: Actor, { request_id, address }: Origin, action: 'signOut' | 'endStolenSession'): Promise<void> {
    const { storage, audit, now } = this.#parts
    const { console_session = '' } = actor
    await storage.transaction(async (db) => {
      if (!(await sessions.end(db, console_session, now()))) return
      await audit.record(db, {
        request_id,
        address,
        actor,
        action,
        project_id: actor.scope.project_id,
        agent_id: actor.scope.agent_id,
        target: console_session,
        fields: [],
        outcome: 'success',
      })
    })
  }
}
