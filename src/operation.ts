import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Actor } from './operation/actor.ts'
import type { Context, Uploads } from './operation/context.ts'
import type { KnownAnswer } from './operation/known-answer.ts'
import type { Parts } from './operation/parts.ts'
import type { AcceptedReply, COMMITTED } from './operation/reply-channel.ts'
import type { StreamEvent } from './runtime/following/transcript.ts'
import type { GivenInput } from './runtime/given.ts'
import type { Permission } from './security/permissions.ts'
import type { ProtectedName } from './security/security-settings.ts'
import type { Content } from './storage/bytes/content.ts'
import type { Database } from './storage/database.ts'
import type { Page } from './storage/queries/page.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Empty = z.ZodObject<Record<never, never>>

type Declaration<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> = {
  /** The operationId of the OpenAPI document; unique. */
  id: string
  method: Method
  /**
   * The path, with parameters in braces. `{agent_id}` takes an id or a name; `run` gets the id of an existing agent.
   */
  path: `/v1/${string}`
  summary: string
  description?: string
  /** It is going to be removed. Its description says what to use instead. */
  deprecated?: Deprecation
  access: Access<P, Q, B>
  mfa?: SecondFactor<P, Q, B>
  /** The request is written to the audit log. Every change needs it; invocations have receipts instead. */
  audit?: Audit<P, Q, B>
  /** Takes an Idempotency-Key. */
  idempotent?: boolean
  /**
   * A mutation runs in one transaction unless this is false: then only a call for the background does. Otherwise `run`
   * may write its effects together with its reply: see `CommitReply`.
   */
  transaction?: boolean
  input?: RequestShape<P, Q, B>
}

/** Dates such as `2027-01-31`: when the operation was deprecated, and when it will be removed. See docs/compatibility.md. */
export type Deprecation = { since: string; sunset: string }

/** Who may call the operation. */
type Access<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> = {
  /** Null: every valid key may call it. */
  permission: Permission | null
  /** The permission that is enough for what the actor itself started. `run` checks that. */
  ownPermission?: Permission
  /**
   * The operation concerns the whole service. It requires an actor with access to all projects or, with `operator`, an
   * actor of the default project.
   */
  reach?: 'service' | 'operator'
  /**
   * A user token can call this operation, because it shows only what belongs to the token's user or to no user, and
   * creates nothing that acts or listens for others. User tokens get 403 from all other operations.
   */
  userTokens?: true
  /** For people who are signed in. Keys and tokens get 403. */
  forPeople?: true
  /** For remote agents, on behalf of their runs. Keys, tokens and people get 403; such agents get 403 from all others. */
  ofRuns?: true
  /** The run itself limits how often its agent asks: while it continues, such requests count for no rate. */
  isLimitedByRun?: true
  /** After this time 503 is answered if it is not known yet who asks, because the database hangs: monitors do not wait. */
  knownWithinMs?: number
  /**
   * The agent (id or name) that the operation concerns although its path does not name it. That agent's own security
   * applies too.
   */
  concerns?(input: Input<P, Q, B>, db: Database): Promise<string | null>
}

/** When a call needs a one-time code. */
type SecondFactor<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> = {
  /**
   * The name by which `security.mfa.requiredFor` protects the operation. Every DELETE also has the name `delete`, and
   * every PATCH and PUT the name `update`. `always` asks for a code under every policy.
   */
  policy?: ProtectedName | 'always'
  /** Body fields that bring in what such a name protects. */
  fields?: Readonly<Record<string, ProtectedName>>
  /** Body fields that change who may do what. A body with one of them needs a code under every policy. */
  accessFields?: readonly string[]
  /**
   * The agents (IDs or names) that the saved or deployed definition calls. If invoking one of them requires a one-time
   * code, so does this operation.
   */
  calls?(input: Input<P, Q, B>, db: Database): Promise<readonly string[]>
  /**
   * The operation changes data of all agents in reach, so it requires a one-time code if the policy of one of them
   * does.
   */
  acrossAgents?: boolean
  /** The project (id) that it removes with all agents: the own security of each of them applies. */
  removesProject?(input: Input<P, Q, B>, db: Database): Promise<string | null>
}

/** What a request contains, and what is done with it before `run`. */
type RequestShape<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> = {
  params?: P
  query?: Q
  body?: B
  /** The body may be absent. */
  bodyOptional?: boolean
  /** The body may be of any type and size: it is an `Upload`. */
  upload?: true
  /** Checks what a shape cannot, before the transaction begins, because it may take a while. */
  check?(input: Input<P, Q, B>, parts: Pick<Parts, 'runtime' | 'storage'>, actor: Actor): Promise<void> | undefined
  /** Takes in bytes that the input asks for, before the transaction begins. */
  receive?(
    input: Input<P, Q, B> & { given: GivenInput | undefined },
    actor: Actor,
    parts: Parts,
  ): Promise<Uploads | undefined> | undefined
}

type Audit<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> = {
  target: AuditTarget<NoInfer<P>> | ((input: Input<P, Q, B>) => AuditTarget<NoInfer<P>>)
  /** The target is an agent that the path does not name. */
  isAgent?: true
  /** Without it every request is audited. */
  when?(input: Input<P, Q, B>): boolean
}

/** The target of the change: a path parameter, several parameters that identify it together, or the ID in the reply. */
type AuditTarget<P extends z.ZodObject> = ParamName<P> | readonly ParamName<P>[] | 'reply' | null

type ParamName<P extends z.ZodObject> = keyof z.output<P> & string

/** Only operations that read may leave out `audit`. */
type AuditedChange = { method: 'GET' } | { access: { permission: 'read' } } | { audit: object }

type Input<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> = {
  params: z.output<P>
  query: z.output<Q>
  body: z.output<B>
}

type Answer = {
  /** 200 without it. */
  status?: 200 | 201 | 202
  /** The reply shows a secret once, so it is stored encrypted for repeated requests. */
  secret?: boolean
  /** The field of the reply whose items clients may have as CSV. */
  csv?: string
  /** The shape of a 202 reply, for an operation that can continue in the background. */
  accepted?: z.ZodType
  /**
   * The operation can answer with a stream of events, when asked to or `always`. `replay` makes the events of a
   * repeated reply.
   */
  streams?: { always?: boolean; replay?(data: never): StreamEvent[] }
  /** The errors of the operation, besides those of the pipeline. */
  errors?: ErrorCode[]
}

type AnswerShape<D extends z.ZodType, I extends z.ZodType> =
  | { data: D; list?: never; lines?: never; content?: never }
  /** The shape of one item; `run` returns a page of items. */
  | { list: I; data?: never; lines?: never; content?: never }
  /** The shape of one line; `run` returns an iterable, and each line is sent when it comes. */
  | { lines: I; data?: never; list?: never; content?: never }
  /** `run` returns `Content`. */
  | { content: true; data?: never; list?: never; lines?: never }

/** A declared operation, as the pipeline, the OpenAPI document and the tests read it. */
export type Operation = Declaration<z.ZodObject, z.ZodObject, z.ZodType> & {
  answer: Answer & AnswerShape<z.ZodType, z.ZodType>
  run(input: { params: unknown; query: unknown; body: unknown }, context: Context): Promise<unknown>
}

type Returned<A> = A extends { data: infer D extends z.ZodType }
  ? z.input<D> | KnownAnswer<z.input<D>> | AcceptedReply | typeof COMMITTED
  : A extends { list: infer I extends z.ZodType }
    ? Page<z.input<I>> | KnownAnswer<Page<z.input<I>>>
    : A extends { lines: infer L extends z.ZodType }
      ? AsyncIterable<z.input<L>>
      : Content

export function operation<
  A extends Answer & AnswerShape<z.ZodType, z.ZodType>,
  P extends z.ZodObject = Empty,
  Q extends z.ZodObject = Empty,
  B extends z.ZodType = Empty,
>(
  declared: Declaration<P, Q, B> &
    AuditedChange & { answer: A; run(input: Input<P, Q, B>, context: Context): Promise<Returned<A>> },
): typeof declared {
  return declared
}

/**
 * Whether the operation changes something. Then it runs in a transaction, and POST and PATCH take an Idempotency-Key.
 */
export function changes({ method }: { method: string }): boolean {
  return method !== 'GET'
}

type AnyInput = Parameters<NonNullable<Operation['access']['concerns']>>[0]

/** The id of what the request changed. A request that has not run yet has no reply. */
export function auditTarget({ audit }: Pick<Operation, 'audit'>, input: AnyInput, reply: unknown): string | null {
  const target = typeof audit?.target === 'function' ? audit.target(input) : audit?.target
  if (target === 'reply') return (reply as { id: string } | undefined)?.id ?? null
  if (target === undefined || target === null) return null
  const names = typeof target === 'string' ? [target] : target
  return names.map((name) => input.params[name]).join('/')
}

/** The names by which a policy may ask for a one-time code. */
export function protectedNames({ method, mfa }: Pick<Operation, 'method' | 'mfa'>): string[] {
  const byMethod = { DELETE: ['delete'], PATCH: ['update'], PUT: ['update'], POST: [], GET: [] }[method]
  return mfa?.policy === undefined ? byMethod : [...byMethod, mfa.policy]
}
