import { type InvocationQueued, type InvocationResult, routes } from './api.ts'
import { type Attachable, attach, isBytes } from './attachments.ts'
import { type Body, caller, fill, type ListQuery } from './call.ts'
import { MoorageError } from './errors.ts'
import { fileMethods } from './files.ts'
import { followLogs } from './follow-logs.ts'
import { methods } from './methods.ts'
import { type OutputSpec, outputOf, type ValueOf } from './output.ts'
import { readData, readJson } from './reply.ts'
import { type Call, type ClientOptions, type RequestOptions, sender } from './request.ts'
import { followInvocation, type StreamOptions, streamInvoke } from './stream.ts'
import { waitingText } from './waiting.ts'

export type * from './api.ts'
export type { Attachable } from './attachments.ts'
export { MoorageError } from './errors.ts'
export type { DownloadOptions, FileSource, UploadOptions } from './files.ts'
export * from './node-handler.ts'
export type { OutputShape, ValueOf } from './output.ts'
export type { Page, Pages } from './pages.ts'
export type { ClientOptions, RequestOptions } from './request.ts'
export * from './serve-agent.ts'
export type { InvocationEvent, StreamOptions } from './stream.ts'
export { waitingText, waitReason } from './waiting.ts'
export * from './webhook.ts'

/** An agent can take up to ten minutes. */
const LONGEST_RUN_MS = 610_000

export type Client = ReturnType<typeof createClient>

/** A client for one service. Each operation of the API is a method. Agents are identified by ID or name. */
export function createClient(options: ClientOptions) {
  const { idleTimeoutMs, onRetry } = options
  const connection = { ...sender(options), idleTimeoutMs, onRetry }
  const { call, list, lines } = caller(connection, options.signal)
  const whileStreaming = { timeoutMs: LONGEST_RUN_MS, signal: options.signal }
  type Options = RequestOptions

  const api = methods({ call, list, lines })
  const files = { ...api.files, ...fileMethods(connection) }

  const attached = async (given: readonly Attachable[] | undefined, user_id: string | undefined, o: Options = {}) =>
    given ? { attachments: await attach(files, given, user_id, o) } : {}

  /** The request body. A zod shape becomes its JSON Schema, and bytes become uploaded files. */
  const bodyOf = async ({ output, attachments, ...rest }: Ask<OutputSpec | undefined>, o?: Options) => ({
    ...rest,
    ...(output !== undefined && { output: outputOf(output) }),
    ...(await attached(attachments, rest.context?.user_id, o)),
  })

  return {
    ...api,
    agents: {
      ...api.agents,
      /**
       * Resolves with the answer. If you stop waiting, the run continues; use `stream` to cancel it instead. If the run
       * has to wait, this rejects with the code `waiting` and the run's `request_id`, and the run continues later. With
       * `output`, a zod schema or a JSON Schema, the answer has a value of that type. Files and bytes in `attachments`
       * are uploaded first.
       */
      invoke: async <const W extends OutputSpec | undefined = undefined>(
        agent_id: string,
        body: Ask<W>,
        o?: Options,
      ) => {
        const asked = { params: { agent_id }, body: await bodyOf(body, o) }
        return requireAnswer(await call('invokeAgent', asked, { timeoutMs: LONGEST_RUN_MS, ...o })) as Answer<W>
      },
      /**
       * Yields the answer as it arrives, and resumes after a broken connection. Leaving the loop cancels
       * the run.
       */
      stream: <const W extends OutputSpec | undefined = undefined>(agent_id: string, body: Ask<W>, o?: Options) =>
        streamInvoke<Answer<W>>(connection, agent_id, () => bodyOf(body, o), { ...whileStreaming, ...o }),
      /**
       * Calls the agent up to eight times. The timeout is the same as for a run, and the request isn't retried
       * automatically.
       */
      checkRemote: (agent_id: string, body: Body<'checkRemote'> = {}, o?: Options) =>
        api.agents.checkRemote(agent_id, body, { timeoutMs: LONGEST_RUN_MS, retries: 0, ...o }),
      /** Starts a run in the background. `invocations.get` returns its status. */
      async start(agent_id: string, asked: Ask<OutputSpec | undefined>, o?: Options): Promise<InvocationQueued> {
        const { method, path } = routes.invokeAgent
        const headers = { Prefer: 'respond-async' }
        const body = await bodyOf(asked, o)
        return readData(await connection.send({ method, path: fill(path, { agent_id }), body, headers }, o))
      },
    },
    invocations: {
      ...api.invocations,
      /** Yields a run's events from the start until it ends. */
      follow: (agent_id: string, request_id: string, o?: StreamOptions) =>
        followInvocation<InvocationResult>(connection, agent_id, request_id, { ...whileStreaming, ...o }),
    },
    files,
    schedules: {
      ...api.schedules,
      /** The agent receives the message at each scheduled time. Files and bytes in `attachments` are uploaded first. */
      async create(agent_id: string, { attachments, ...asked }: WithAttachments<Body<'createSchedule'>>, o?: Options) {
        const own = await attached(attachments, asked.context?.user_id, o)
        return api.schedules.create(agent_id, { ...asked, ...own }, o)
      },
      /**
       * Changes only the fields you send. Files and bytes in `attachments` are uploaded first, for the schedule's user.
       */
      async update(
        agent_id: string,
        schedule_id: string,
        changes: WithAttachments<Body<'updateSchedule'>>,
        o?: Options,
      ) {
        const { attachments, ...asked } = changes
        const isUserUnknown = attachments?.some(isBytes) && !asked.context
        // The one-time code is for the change only.
        const { context } = isUserUnknown
          ? await api.schedules.get(agent_id, schedule_id, { ...o, otp: undefined })
          : asked
        const own = await attached(attachments, context?.['user_id'] as string | undefined, o)
        return api.schedules.update(agent_id, schedule_id, { ...asked, ...own }, o)
      },
    },
    logs: {
      ...api.logs,
      /** Yields each entry stored from now on, once and in order. To stop, leave the loop or abort the signal. */
      follow: (agent_id: string, query: ListQuery<'getLogs'> = {}, o: Options = {}) =>
        followLogs((asked) => api.logs.list(agent_id, asked, o), query, o.signal ?? options.signal),
    },
    users: {
      ...api.users,
      /** Resolves once everything is erased. If it was interrupted, call it again to finish. */
      erase: (user_id: string, o?: Options) => api.users.erase(user_id, { timeoutMs: LONGEST_RUN_MS, ...o }),
    },
    mfa: {
      ...api.mfa,
      /** Activates a new second factor with its first code. */
      confirm: (key_id: string, code: string, o?: Options) => api.mfa.confirm(key_id, { code }, o),
    },
    /** Sends any other request to the service. Resolves with the reply's whole body, as text if it isn't JSON. */
    async request(request: Call, o?: Options): Promise<unknown> {
      const reply = await connection.send(request, o)
      const isOurText = reply.headers.has('x-request-id') && !reply.headers.get('content-type')?.includes('json')
      return isOurText ? reply.text : readJson(reply)
    },
  }
}

/** A body whose attachments can be files or bytes of your program. */
type WithAttachments<B> = Omit<B, 'attachments'> & { attachments?: readonly Attachable[] | undefined }

/** The body of an invocation. */
type Ask<W extends OutputSpec | undefined> = Omit<WithAttachments<Body<'invokeAgent'>>, 'output'> & { output?: W }

/** The result, with the structured output if it was requested. */
type Answer<W> = W extends OutputSpec ? Omit<InvocationResult, 'output'> & { output: ValueOf<W> } : InvocationResult

/** Returns the result. A run that waits has no answer yet, so this throws. */
function requireAnswer(data: InvocationResult | InvocationQueued): InvocationResult {
  if (!('status' in data)) return data
  const { request_id, reason } = data
  throw new MoorageError('waiting', `${waitingText(data)} (${request_id})`, { status: 202, request_id, reason })
}
