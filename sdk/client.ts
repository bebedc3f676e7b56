import { type InvocationQueued, type InvocationResult, routes } from './api.ts'
import { type Attachable, attach } from './attachments.ts'
import { type Body, caller, fill, type ListQuery } from './call.ts'
import { MoorageError } from './errors.ts'
import { fileMethods } from './files.ts'
import { followLogs } from './follow-logs.ts'
import { methods } from './methods.ts'
import { outputOf, type ValueOf, type Wanted } from './output.ts'
import { readData, readJson } from './reply.ts'
import { type Call, type ClientOptions, type RequestOptions, sender } from './request.ts'
import { followInvocation, type StreamOptions, streamInvoke } from './stream.ts'

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
export * from './webhook.ts'

/** An agent may take ten minutes. */
const LONGEST_RUN_MS = 610_000

export type Client = ReturnType<typeof createClient>

/** A client of one service: every operation of its API is one method. An agent is named by its id or its name. */
export function createClient(options: ClientOptions) {
  const { idleTimeoutMs, onRetry } = options
  const connection = { ...sender(options), idleTimeoutMs, onRetry }
  const { call, list, lines } = caller(connection)
  const whileStreaming = { timeoutMs: LONGEST_RUN_MS, signal: options.signal }
  type Options = RequestOptions

  const api = methods({ call, list, lines })
  const files = { ...api.files, ...fileMethods(connection) }

  /** What is sent for what was asked: a shape becomes its schema, and bytes become files. */
  const bodyOf = async ({ output, attachments, ...rest }: Ask<Wanted | undefined>, o: Options = {}) => ({
    ...rest,
    ...(output !== undefined && { output: outputOf(output) }),
    ...(attachments && { attachments: await attach(files, attachments, rest.context?.user_id, o) }),
  })

  return {
    ...api,
    agents: {
      ...api.agents,
      /**
       * Resolves with the answer. The run goes on if you stop waiting; use `stream` if it should end then. If the agent
       * waits for a person, it rejects with the code `waiting` and the `request_id` of the run, which goes on later. With
       * `output`, a zod shape or a JSON Schema, the answer has a value of that type. Files and bytes in `attachments` are
       * uploaded first.
       */
      invoke: async <const W extends Wanted | undefined = undefined>(agent_id: string, body: Ask<W>, o?: Options) => {
        const asked = { params: { agent_id }, body: await bodyOf(body, o) }
        return requireAnswer(await call('invokeAgent', asked, { timeoutMs: LONGEST_RUN_MS, ...o })) as Answer<W>
      },
      /**
       * Gives the answer as it comes. After a broken connection it goes on where it stopped. Leaving the loop cancels
       * the run.
       */
      stream: <const W extends Wanted | undefined = undefined>(agent_id: string, body: Ask<W>, o?: Options) =>
        streamInvoke<Answer<W>>(connection, agent_id, () => bodyOf(body, o), { ...whileStreaming, ...o }),
      /** Starts a run in the background; `invocations.get` tells its state. */
      async start(agent_id: string, asked: Ask<Wanted | undefined>, o?: Options): Promise<InvocationQueued> {
        const { method, path } = routes.invokeAgent
        const headers = { Prefer: 'respond-async' }
        const body = await bodyOf(asked, o)
        return readData(await connection.send({ method, path: fill(path, { agent_id }), body, headers }, o))
      },
    },
    invocations: {
      ...api.invocations,
      /** Gives what a run has said from the beginning, and goes on until it ends. */
      follow: (agent_id: string, request_id: string, o?: StreamOptions) =>
        followInvocation<InvocationResult>(connection, agent_id, request_id, { ...whileStreaming, ...o }),
    },
    files,
    logs: {
      ...api.logs,
      /** Gives each entry that is stored from now on, once, in that order. Leave the loop, or abort the signal, to end it. */
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
      /** The first code of a new factor puts it in force. */
      confirm: (key_id: string, code: string, o?: Options) => api.mfa.confirm(key_id, { code }, o),
    },
    /** Sends any other request to the service. Resolves with the whole body of the reply. */
    async request(request: Call, o?: Options): Promise<unknown> {
      return readJson(await connection.send(request, o))
    },
  }
}

/** What is asked of an agent. */
type Ask<W extends Wanted | undefined> = Omit<Body<'invokeAgent'>, 'output' | 'attachments'> & {
  output?: W
  attachments?: readonly Attachable[] | undefined
}

/** With the value that was wanted, if one was. */
type Answer<W> = W extends Wanted ? Omit<InvocationResult, 'output'> & { output: ValueOf<W> } : InvocationResult

/** A run that waits for a person has no answer yet. */
function requireAnswer(data: InvocationResult | InvocationQueued): InvocationResult {
  if (!('status' in data)) return data
  const { request_id } = data
  throw new MoorageError('waiting', `The agent waits for a person: ${request_id}`, { status: 202, request_id })
}
