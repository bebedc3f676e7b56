import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Context } from './operation/context.ts'
import type { KnownAnswer } from './operation/known-answer.ts'
import type { Accepted } from './operation/reply-channel.ts'
import type { Unwritten } from './operation/unwritten.ts'
import type { StreamEvent } from './runtime/transcript.ts'
import type { Permission } from './security/permissions.ts'
import type { ProtectedName } from './security/security-settings.ts'
import type { Database } from './storage/database.ts'
import type { Page } from './storage/queries/page.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

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
  /** What it takes instead for what the actor itself started; `run` keeps to that. */
  ownPermission?: Permission
  /**
   * A token that speaks for one user may call it: it shows what is that user's or names nobody, and makes nothing that
   * acts or listens for others. Such a token gets 403 from every operation that does not say so.
   */
  userTokens?: true
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
  /** Mutations run in one transaction unless they say false; then `run` may return what it leaves as `Unwritten`. */
  transaction?: boolean
  /** Mutations are audited unless they say false: invocations leave receipts instead. */
  audit?: false
  /**
   * The name by which `security.mfa.requiredFor` protects it, beside `delete` for every DELETE and `update` for every
   * PATCH and PUT; `always` asks for a code whatever the policy says.
   */
  mfa?: ProtectedName | 'always'
  /** Body fields that say who may do what: to name one takes a code under every policy. */
  accessFields?: readonly string[]
  /** The agent (id or name) that it touches without being under its path; that agent's own security holds then too. */
  concerns?(input: Input<P, Q, B>, db: Database): Promise<string | null>
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
  | { data: D; list?: never; lines?: never }
  /** The shape of one item; `run` returns a page of them. */
  | { list: I; data?: never; lines?: never }
  /** The shape of one line; `run` returns them one by one, and they are sent as they come. */
  | { lines: I; data?: never; list?: never }

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
    run(input: Input<P, Q, B>, context: Context): Promise<z.input<D> | KnownAnswer<z.input<D>> | Accepted | Unwritten>
  },
): typeof declared
export function operation<
  I extends z.ZodType,
  P extends z.ZodObject = Empty,
  Q extends z.ZodObject = Empty,
  B extends z.ZodType = Empty,
>(
  declared: Declaration<P, Q, B> & {
    list: I
    run(input: Input<P, Q, B>, context: Context): Promise<Page<z.input<I>> | KnownAnswer<Page<z.input<I>>>>
  },
): typeof declared
export function operation<
  L extends z.ZodType,
  P extends z.ZodObject = Empty,
  Q extends z.ZodObject = Empty,
  B extends z.ZodType = Empty,
>(
  declared: Declaration<P, Q, B> & {
    lines: L
    run(input: Input<P, Q, B>, context: Context): Promise<AsyncIterable<z.input<L>>>
  },
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
  const byMethod = { DELETE: ['delete'], PATCH: ['update'], PUT: ['update'], POST: [], GET: [] }[method]
  return mfa === undefined ? byMethod : [...byMethod, mfa]
}
