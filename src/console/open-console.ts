import * as factors from '../keys/factors/factor-store.ts'
import { actorOf, type Key } from '../keys/key.ts'
import * as keys from '../keys/store.ts'
import type { Actor } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { sha256 } from '../security/digest.ts'
import { covers } from '../security/permissions.ts'
import { type ConsoleSession, endOf, isSecretInForce, useOf } from './console-session.ts'
import { type Credential, newSecret, type SignInFrom, type SignInParts, signIn } from './sign-in.ts'
import * as sessions from './store.ts'

/** The request that a session came with. */
type Origin = { request_id: string; address: string }

type KnownSession = { session: ConsoleSession; key: Key; actor: Actor }

/** A session is forgotten when it changes, when its key does, and when the key's agent does. */
function subjectsOf({ session, key: { id, agent_id } }: KnownSession): string[] {
  return agent_id === null ? [session.id, id] : [session.id, id, agent_id]
}

/** `noteUse` counts a request of the console as a use of its key. */
type ConsoleParts = SignInParts & Pick<Parts, 'memo'> & { noteUse(key_id: string): void }

/** Who is signed in to the console. Sessions in use are kept in memory, as keys are. */
export class OpenConsole {
  readonly #parts: ConsoleParts
  readonly #idleTimeout: number

  constructor(parts: ConsoleParts) {
    this.#parts = parts
    this.#idleTimeout = parts.config.console.idleTimeout
  }

  signIn(credential: Credential, from: SignInFrom): ReturnType<typeof signIn> {
    return signIn(this.#parts, credential, from)
  }

  /** The actor of a cookie's secret. `fresh` is the secret that the browser must have from now on. */
  async use(
    secret: string,
    from: Origin & { secure: boolean },
  ): Promise<{ actor: Actor; fresh: string | undefined } | undefined> {
    const { memo, storage, now, noteUse } = this.#parts
    const hash = sha256(secret)
    const found = await memo('keys', `console ${hash}`, () => this.#load(hash), subjectsOf)
    if (!found) return undefined
    const { session, key, actor } = found
    const time = now()
    if (endOf(session, key, this.#idleTimeout) <= time) return undefined
    // What was sent over TLS once may have been read on its way if it comes in plain text.
    if (session.secure === 1 && !from.secure) return undefined
    if (!isSecretInForce(session, hash, time)) {
      // Two browsers have the cookie, and one of them has stolen it.
      await this.#end(actor, from, 'endStolenSession')
      return undefined
    }
    noteUse(key.id)
    let fresh: string | undefined
    const changes = useOf(session, hash, time, () => sha256((fresh = newSecret())))
    if (!changes) return { actor, fresh }
    const isWritten = await storage.transaction((db) => sessions.update(db, session, changes))
    return { actor, fresh: isWritten ? fresh : undefined }
  }

  /** What the console shows of the session that it runs in. */
  async describe({ id, reach, permissions, console_session = '' }: Actor) {
    const { storage, now } = this.#parts
    const maySeeProjects = reach === 'service' && covers(permissions, 'read')
    const [key, session, factor, projects] = await Promise.all([
      keys.get(storage.db, id),
      sessions.find(storage.db, console_session),
      factors.find(storage.db, id, 'active'),
      maySeeProjects ? sessions.projectsToChoose(storage.db) : [],
    ])
    return {
      session_id: console_session,
      key: { id: key.id, name: key.name, hint: key.hint },
      expires_at: session?.expires_at ?? now(),
      idle_seconds: this.#idleTimeout / 1000,
      has_factor: factor !== undefined,
      projects,
    }
  }

  /** When the actor's session ends if it is not used again. 0 if it has been ended. */
  async validUntil({ id, console_session = '' }: Actor): Promise<number> {
    const { db } = this.#parts.storage
    const [key, session] = await Promise.all([keys.find(db, id), sessions.find(db, console_session)])
    return key && session ? endOf(session, key, this.#idleTimeout) : 0
  }

  signOut(actor: Actor, from: Origin): Promise<void> {
    return this.#end(actor, from, 'signOut')
  }

  async #load(hash: string): Promise<KnownSession | undefined> {
    const { db } = this.#parts.storage
    const session = await sessions.findByHash(db, hash)
    const key = session && (await keys.find(db, session.key_id))
    return key && { session, key, actor: { ...actorOf(key), console_session: session.id } }
  }

  /** Ends a session at once, on every node. */
  async #end(actor: Actor, { request_id, address }: Origin, action: 'signOut' | 'endStolenSession'): Promise<void> {
    const { storage, audit } = this.#parts
    const { console_session = '' } = actor
    await storage.transaction(async (db) => {
      if (!(await sessions.remove(db, console_session))) return
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
