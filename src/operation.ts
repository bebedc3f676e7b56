import type { z } from 'zod'
import type { Config } from './config.ts'
import { ApiError, type ErrorCode, forbidden } from './errors.ts'
import type { Events } from './events.ts'
import type { NewId } from './lib/id.ts'
import type { Logger } from './lib/log.ts'
import type { LiveRuns, StreamEvent } from './runtime/live-runs.ts'
import type { Embedder } from './runtime/models/embedder.ts'
import type { Runtime } from './runtime/runtime.ts'
import type { GuardedFetch } from './security/outgoing/guarded-fetch.ts'
import type { Permission } from './security/permissions.ts'
import type { Keyring } from './security/secrets.ts'
import type { ProtectedName } from './security/security-settings.ts'
import type { Database, Storage } from './storage/database.ts'
import type { Entry, Journal } from './storage/journal/journal.ts'
import type { Memo } from './storage/memo.ts'
import type { Page } from './storage/page.ts'

/** Who asks. `agent_id` is the scope: null means the whole service. */
export type Actor = {
  kind: 'key' | 'token' | 'local'
  id: string
  agent_id: string | null
  permissions: readonly Permission[]
  tier: string
  /** What the actor creates may not outlive it. */
  expires_at: number | null
  /** The one user for whom a JWT speaks; what the actor does is done for that user and no other. */
  user_id?: string
}

/** What somebody did, or was not let do. */
export type AuditEvent = {
  /** Null before anybody was recognised. */
  actor: Pick<Actor, 'kind' | 'id'> | null
  /** The operation's id; null on a path that is no operation's. */
  action: string | null
  agent_id: string | null
  /** The id of what was changed. */
  target: string | null
  request_id: string
  /** Null on the host itself. */
  address: string | null
}

export type AuditTrail = {
  /**
   * Belongs into the transaction of the change; a change without one is told before, as `started`, and after.
   * `fields` are names, never values.
   */
  record(db: Database, event: AuditEvent & { fields: string[]; outcome: 'started' | 'success' }): Promise<void>
  /** Never holds up the reply, and a flood of refusals becomes few entries. */
  refuse(event: AuditEvent & { code: ErrorCode }): void
}

/** What the house is built of; made once in app.ts. */
export type Parts = {
  config: Config
  storage: Storage
  journal: Journal
  events: Events
  keyring: Keyring
  runtime: Runtime
  /** Undefined unless configured: then memory is searched by words alone. */
  embedder: Embedder | undefined
  /** For addresses that somebody else chose. */
  fetch: GuardedFetch
  live: LiveRuns
  memo: Memo
  audit: AuditTrail
  log: Logger
  newId: NewId
  now(): number
  /** This process among all that share the database. */
  node: string
}

/** How the client wants its answer. */
export type Mode = 'reply' | 'stream' | 'background'

export type Context = Parts & {
  /** The operation's transaction; for reads, and operations that declare `transaction: false`, the database. */
  db: Database
  actor: Actor
  request_id: string
  mode: Mode
  /** Calls back when nobody waits for the answer any more; undefined when the work is to go on regardless. */
  onHangUp: ((listener: () => void) => void) | undefined
  /** There when the client reads a stream; the last event, `done`, is the reply itself. */
  emit: ((event: StreamEvent) => void) | undefined
  /** Tells the client that its stream begins, before there is anything to say. */
  openStream: (() => void) | undefined
  last_event_id: string | undefined
  /**
   * For operations without a transaction: writes what the run leaves and, when `data` is the reply to a request that
   * may be repeated, that reply, in one commit. False: the entry's guard refused.
   */
  commit(entry: Entry, data?: unknown): Promise<boolean>
}

/** How the answer reaches the client. */
export type Delivery = Pick<Context, 'mode' | 'onHangUp' | 'emit' | 'openStream' | 'last_event_id'>

export const PLAIN_REPLY: Delivery = {
  mode: 'reply',
  onHangUp: undefined,
  emit: undefined,
  openStream: undefined,
  last_event_id: undefined,
}

/** A reply of 202: the work goes on after it. */
export class Accepted {
  readonly data: unknown
  readonly location: string

  constructor(data: unknown, location: string) {
    this.data = data
    this.location = location
  }
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

type Empty = z.ZodObject<Record<never, never>>

type Declaration<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> = {
  /** The operationId of the OpenAPI document; unique. */
  id: string
  method: Method
  /** With parameters in braces; `{agent_id}` takes an id or a name, and reaches `run` as the id of an agent that exists. */
  path: `/v1/${string}`
  summary: string
  description?: string
  /** null: any valid key will do. */
  permission: Permission | null
  params?: P
  query?: Q
  body?: B
  /** A request without a body is fine. */
  bodyOptional?: boolean
  success?: 200 | 201 | 202
  /** Takes an Idempotency-Key. */
  idempotent?: boolean
  /** The reply shows a secret once: it is stored encrypted for replays. */
  secret?: boolean
  /** Mutations run in one transaction unless they say false. */
  transaction?: boolean
  /** Mutations are audited unless they say false: invocations leave receipts instead. */
  audit?: false
  /**
   * The name by which `security.mfa.requiredFor` protects it, beside `delete` for every DELETE and `update` for every
   * PATCH; `always` asks for a code whatever the policy says.
   */
  mfa?: ProtectedName | 'always'
  /** Body fields that say who may do what: to name one takes a code under every policy. */
  accessFields?: readonly string[]
  /** The agent (id or name) that it touches without being under its path; that agent's own security holds then too. */
  concerns?(input: Pick<Input<P, Q, B>, 'params' | 'body'>, db: Database): Promise<string | null>
  /** The shape of a 202 reply, for an operation that can go on in the background. */
  accepted?: z.ZodType
  /** Can answer as a stream of events: when asked to, or `always`. `replay` gives the events of a reply that is repeated. */
  streams?: { always?: boolean; replay?(data: never): StreamEvent[] }
  /** What may go wrong besides what the pipeline itself answers. */
  errors?: ErrorCode[]
}

type Input<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> = {
  params: z.output<P>
  query: z.output<Q>
  body: z.output<B>
}

type Answer<D extends z.ZodType, I extends z.ZodType> =
  | { data: D; list?: never }
  /** The shape of one item; `run` returns a page of them. */
  | { list: I; data?: never }

/** An operation once declared, as the pipeline, the OpenAPI document and the tests read it. */
export type Operation = Declaration<z.ZodObject, z.ZodObject, z.ZodType> &
  Answer<z.ZodType, z.ZodType> & {
    run(input: { params: unknown; query: unknown; body: unknown }, context: Context): Promise<unknown>
  }

export function operation<
  D extends z.ZodType,
  P extends z.ZodObject = Empty,
  Q extends z.ZodObject = Empty,
  B extends z.ZodType = Empty,
>(
  declared: Declaration<P, Q, B> & {
    data: D
    run(input: Input<P, Q, B>, context: Context): Promise<z.input<D> | Accepted>
  },
): typeof declared
export function operation<
  I extends z.ZodType,
  P extends z.ZodObject = Empty,
  Q extends z.ZodObject = Empty,
  B extends z.ZodType = Empty,
>(
  declared: Declaration<P, Q, B> & { list: I; run(input: Input<P, Q, B>, context: Context): Promise<Page<z.input<I>>> },
): typeof declared
export function operation(declared: unknown): unknown {
  return declared
}

/** Whether the operation changes something; then it runs in a transaction and takes an Idempotency-Key on POST and PATCH. */
export function changes({ method }: { method: string }): boolean {
  return method !== 'GET'
}

/** Whether a change is written to the audit log. */
export function isAudited({ method, permission, audit }: Pick<Operation, 'method' | 'permission' | 'audit'>): boolean {
  return changes({ method }) && permission !== 'read' && audit !== false
}

/** The names by which a policy may ask for a one-time code. */
export function protectedNames({ method, mfa }: Pick<Operation, 'method' | 'mfa'>): string[] {
  const byMethod = { DELETE: ['delete'], PATCH: ['update'], POST: [], GET: [] }[method]
  return mfa === undefined ? byMethod : [...byMethod, mfa]
}

/** For whom the actor acts: a token that speaks for one user cannot speak for another. */
export function requireUser({ user_id }: Actor, wanted: string | undefined): string | undefined {
  if (user_id === undefined) return wanted
  if (wanted !== undefined && wanted !== user_id) throw forbidden('This token speaks for another user')
  return user_id
}

export function requirePermission({ permissions }: Actor, permission: Permission): void {
  if (!permissions.includes(permission)) throw forbidden(`This key lacks the permission "${permission}"`)
}

/** The same words whether or not the agent exists: a scoped key learns nothing about others. */
export function requireScope({ agent_id }: Actor, wanted: string | null): void {
  if (agent_id !== null && agent_id !== wanted) throw outOfScope()
}

export function outOfScope(): ApiError {
  return forbidden('This key is limited to another agent')
}
