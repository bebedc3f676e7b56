import { type InvocationQueued, type InvocationResult, routes } from './api.ts'
import { type Body, caller, fill, type ListQuery } from './call.ts'
import { MoorageError } from './errors.ts'
import { followLogs } from './follow-logs.ts'
import { readData, readJson } from './reply.ts'
import { type Call, type ClientOptions, type RequestOptions, sender } from './request.ts'
import { followInvocation, type StreamOptions, streamInvoke } from './stream.ts'

export type * from './api.ts'
export { MoorageError } from './errors.ts'
export type { Page, Pages } from './pages.ts'
export type { ClientOptions, RequestOptions } from './request.ts'
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

  return {
    agents: {
      create: (body: Body<'createAgent'>, o?: Options) => call('createAgent', { body }, o),
      list: (query?: ListQuery<'listAgents'>, o?: Options) => list('listAgents', { query }, o),
      /** With what each serves and how its last day went. */
      overview: (query?: ListQuery<'listOverview'>, o?: Options) => list('listOverview', { query }, o),
      get: (agent_id: string, o?: Options) => call('getAgent', { params: { agent_id } }, o),
      update: (agent_id: string, body: Body<'updateAgent'>, o?: Options) =>
        call('updateAgent', { params: { agent_id }, body }, o),
      delete: (agent_id: string, o?: Options) => call('deleteAgent', { params: { agent_id } }, o),
      /** Calls a tool once, as a run of the agent would. The agent need not have it. */
      testTool: (agent_id: string, body: Body<'testTool'>, o?: Options) =>
        call('testTool', { params: { agent_id }, body }, o),

      /**
       * Resolves with the answer. The run goes on if you stop waiting; use `stream` if it should end then. If the agent
       * waits for a person, it rejects with the code `waiting` and the `request_id` of the run, which goes on later.
       */
      invoke: async (agent_id: string, body: Body<'invokeAgent'>, o?: Options) =>
        requireAnswer(await call('invokeAgent', { params: { agent_id }, body }, { timeoutMs: LONGEST_RUN_MS, ...o })),
      /**
       * Gives the answer as it comes. After a broken connection it goes on where it stopped. Leaving the loop cancels
       * the run.
       */
      stream: (agent_id: string, body: Body<'invokeAgent'>, o?: Options) =>
        streamInvoke<InvocationResult>(connection, agent_id, body, { ...whileStreaming, ...o }),
      /** Starts a run in the background; `invocations.get` tells its state. */
      async start(agent_id: string, body: Body<'invokeAgent'>, o?: Options): Promise<InvocationQueued> {
        const { method, path } = routes.invokeAgent
        const headers = { Prefer: 'respond-async' }
        return readData(await connection.send({ method, path: fill(path, { agent_id }), body, headers }, o))
      },
    },
    invocations: {
      list: (agent_id: string, query?: ListQuery<'listInvocations'>, o?: Options) =>
        list('listInvocations', { params: { agent_id }, query }, o),
      get: (agent_id: string, request_id: string, o?: Options) =>
        call('getInvocation', { params: { agent_id, request_id } }, o),
      /** Those of all agents that the key may see. */
      listAll: (query?: ListQuery<'listAllInvocations'>, o?: Options) => list('listAllInvocations', { query }, o),
      /** What the model was shown: the prompt of its last answer, or of a step. */
      prompt: (agent_id: string, request_id: string, query?: ListQuery<'getPrompt'>, o?: Options) =>
        call('getPrompt', { params: { agent_id, request_id }, query }, o),
      /** What it left elsewhere: memories, and deliveries of its event. */
      effects: (agent_id: string, request_id: string, o?: Options) =>
        call('getEffects', { params: { agent_id, request_id } }, o),
      /** Gives what a run has said from the beginning, and goes on until it ends. */
      follow: (agent_id: string, request_id: string, o?: StreamOptions) =>
        followInvocation<InvocationResult>(connection, agent_id, request_id, { ...whileStreaming, ...o }),
      /** Resolves once the run has stopped. */
      cancel: (agent_id: string, request_id: string, o?: Options) =>
        call('cancelInvocation', { params: { agent_id, request_id } }, o),
      /** Removes what was said. The receipt stays, without words. */
      erase: (agent_id: string, request_id: string, o?: Options) =>
        call('eraseInvocation', { params: { agent_id, request_id } }, o),
    },
    /** What people are asked before runs go on. */
    approvals: {
      list: (query?: ListQuery<'listApprovals'>, o?: Options) => list('listApprovals', { query }, o),
      get: (agent_id: string, request_id: string, call_id: string, o?: Options) =>
        call('getApproval', { params: { agent_id, request_id, call_id } }, o),
      /** Approves or rejects the call of a tool, or answers a question. Only the first decision counts. */
      decide: (agent_id: string, request_id: string, call_id: string, body: Body<'decideApproval'>, o?: Options) =>
        call('decideApproval', { params: { agent_id, request_id, call_id }, body }, o),
    },
    /** Addresses that hear how one run ends. */
    callbacks: {
      create: (agent_id: string, request_id: string, body: Body<'createCallback'>, o?: Options) =>
        call('createCallback', { params: { agent_id, request_id }, body }, o),
      list: (agent_id: string, request_id: string, query?: ListQuery<'listCallbacks'>, o?: Options) =>
        list('listCallbacks', { params: { agent_id, request_id }, query }, o),
      get: (agent_id: string, request_id: string, callback_id: string, o?: Options) =>
        call('getCallback', { params: { agent_id, request_id, callback_id } }, o),
      delete: (agent_id: string, request_id: string, callback_id: string, o?: Options) =>
        call('deleteCallback', { params: { agent_id, request_id, callback_id } }, o),
    },
    deployments: {
      create: (agent_id: string, body: Body<'createDeployment'>, o?: Options) =>
        call('createDeployment', { params: { agent_id }, body }, o),
      list: (agent_id: string, query?: ListQuery<'listDeployments'>, o?: Options) =>
        list('listDeployments', { params: { agent_id }, query }, o),
      get: (agent_id: string, deployment_id: string, o?: Options) =>
        call('getDeployment', { params: { agent_id, deployment_id } }, o),
      /** By its id alone, whichever agent it is of. */
      find: (deployment_id: string, o?: Options) => call('findDeployment', { params: { deployment_id } }, o),
      /** What it changed, or how it differs from another deployment or the working copy. */
      diff: (agent_id: string, deployment_id: string, query?: ListQuery<'diffDeployment'>, o?: Options) =>
        call('diffDeployment', { params: { agent_id, deployment_id }, query }, o),
      rollback: (agent_id: string, deployment_id: string, body: Body<'rollbackDeployment'> = {}, o?: Options) =>
        call('rollbackDeployment', { params: { agent_id, deployment_id }, body }, o),
    },
    schedules: {
      create: (agent_id: string, body: Body<'createSchedule'>, o?: Options) =>
        call('createSchedule', { params: { agent_id }, body }, o),
      list: (agent_id: string, query?: ListQuery<'listSchedules'>, o?: Options) =>
        list('listSchedules', { params: { agent_id }, query }, o),
      get: (agent_id: string, schedule_id: string, o?: Options) =>
        call('getSchedule', { params: { agent_id, schedule_id } }, o),
      update: (agent_id: string, schedule_id: string, body: Body<'updateSchedule'>, o?: Options) =>
        call('updateSchedule', { params: { agent_id, schedule_id }, body }, o),
      delete: (agent_id: string, schedule_id: string, o?: Options) =>
        call('deleteSchedule', { params: { agent_id, schedule_id } }, o),
      /** Begins a run now, as a tick would. */
      run: (agent_id: string, schedule_id: string, o?: Options) =>
        call('runSchedule', { params: { agent_id, schedule_id } }, o),
    },
    logs: {
      list: (agent_id: string, query?: ListQuery<'getLogs'>, o?: Options) =>
        list('getLogs', { params: { agent_id }, query }, o),
      /** Gives each entry that is stored from now on, once, in that order. Leave the loop, or abort the signal, to end it. */
      follow: (agent_id: string, query: ListQuery<'getLogs'> = {}, o: Options = {}) =>
        followLogs(
          (asked) => list('getLogs', { params: { agent_id }, query: asked }, o),
          query,
          o.signal ?? options.signal,
        ),
    },
    metrics: {
      get: (agent_id: string, query: ListQuery<'getMetrics'>, o?: Options) =>
        call('getMetrics', { params: { agent_id }, query }, o),
      /** All metrics at once: requests, errors and response times of each bucket. */
      performance: (agent_id: string, query?: ListQuery<'getPerformance'>, o?: Options) =>
        call('getPerformance', { params: { agent_id }, query }, o),
    },
    memory: {
      search: (agent_id: string, body: Body<'searchMemory'>, o?: Options) =>
        list('searchMemory', { params: { agent_id }, body }, o),
      write: (agent_id: string, body: Body<'writeMemory'>, o?: Options) =>
        call('writeMemory', { params: { agent_id }, body }, o),
      clear: (agent_id: string, query?: ListQuery<'clearMemory'>, o?: Options) =>
        call('clearMemory', { params: { agent_id }, query }, o),
      list: (agent_id: string, query?: ListQuery<'listMemory'>, o?: Options) =>
        list('listMemory', { params: { agent_id }, query }, o),
      get: (agent_id: string, memory_id: string, o?: Options) =>
        call('getMemory', { params: { agent_id, memory_id } }, o),
      update: (agent_id: string, memory_id: string, body: Body<'updateMemory'>, o?: Options) =>
        call('updateMemory', { params: { agent_id, memory_id }, body }, o),
      delete: (agent_id: string, memory_id: string, o?: Options) =>
        call('deleteMemory', { params: { agent_id, memory_id } }, o),
      /** What a long session was about, as the model is shown it. `user_id` says whose session it is. */
      summary: (agent_id: string, session_id: string, query?: ListQuery<'getSummary'>, o?: Options) =>
        call('getSummary', { params: { agent_id, session_id }, query }, o),
      replaceSummary: (
        agent_id: string,
        session_id: string,
        body: Body<'replaceSummary'>,
        query?: ListQuery<'replaceSummary'>,
        o?: Options,
      ) => call('replaceSummary', { params: { agent_id, session_id }, query, body }, o),
      deleteSummary: (agent_id: string, session_id: string, query?: ListQuery<'deleteSummary'>, o?: Options) =>
        call('deleteSummary', { params: { agent_id, session_id }, query }, o),
      /** How many memories of the service the embedder has processed. */
      status: (o?: Options) => call('getMemoryStatus', {}, o),
    },
    users: {
      list: (agent_id: string, query?: ListQuery<'listUsers'>, o?: Options) =>
        list('listUsers', { params: { agent_id }, query }, o),
      sessions: (agent_id: string, query?: ListQuery<'listSessions'>, o?: Options) =>
        list('listSessions', { params: { agent_id }, query }, o),
      /** Everything that is known about a user, item by item. */
      export: (user_id: string, o?: Options) => lines('exportUser', { params: { user_id } }, o),
      /** Resolves once everything is erased. If it was interrupted, call it again to finish. */
      erase: (user_id: string, o?: Options) =>
        call('eraseUser', { params: { user_id } }, { timeoutMs: LONGEST_RUN_MS, ...o }),
    },
    webhooks: {
      create: (body: Body<'createWebhook'>, o?: Options) => call('createWebhook', { body }, o),
      list: (query?: ListQuery<'listWebhooks'>, o?: Options) => list('listWebhooks', { query }, o),
      get: (webhook_id: string, o?: Options) => call('getWebhook', { params: { webhook_id } }, o),
      update: (webhook_id: string, body: Body<'updateWebhook'>, o?: Options) =>
        call('updateWebhook', { params: { webhook_id }, body }, o),
      delete: (webhook_id: string, o?: Options) => call('deleteWebhook', { params: { webhook_id } }, o),
      rotateSecret: (webhook_id: string, body: Body<'rotateWebhookSecret'> = {}, o?: Options) =>
        call('rotateWebhookSecret', { params: { webhook_id }, body }, o),
      /** Sends a `ping` and returns how it was received. */
      test: (webhook_id: string, o?: Options) => call('testWebhook', { params: { webhook_id } }, o),
      deliveries: (webhook_id: string, query?: ListQuery<'listDeliveries'>, o?: Options) =>
        list('listDeliveries', { params: { webhook_id }, query }, o),
      delivery: (webhook_id: string, delivery_id: string, o?: Options) =>
        call('getDelivery', { params: { webhook_id, delivery_id } }, o),
      /** By its id alone, whichever webhook it is of. */
      findDelivery: (delivery_id: string, o?: Options) => call('findDelivery', { params: { delivery_id } }, o),
      redeliver: (webhook_id: string, delivery_id: string, o?: Options) =>
        call('redeliver', { params: { webhook_id, delivery_id } }, o),
    },
    /** Receives events without a public address; `moorage webhooks listen` does it for you. */
    listeners: {
      create: (body: Body<'createListener'>, o?: Options) => call('createListener', { body }, o),
      get: (listener_id: string, query?: ListQuery<'getListener'>, o?: Options) =>
        call('getListener', { params: { listener_id }, query }, o),
    },
    keys: {
      create: (body: Body<'createKey'>, o?: Options) => call('createKey', { body }, o),
      list: (query?: ListQuery<'listKeys'>, o?: Options) => list('listKeys', { query }, o),
      self: (o?: Options) => call('getSelf', {}, o),
      /** The agents that this key may invoke. */
      agents: (query?: ListQuery<'listInvocable'>, o?: Options) => list('listInvocable', { query }, o),
      get: (key_id: string, o?: Options) => call('getKey', { params: { key_id } }, o),
      rotate: (key_id: string, body: Body<'rotateKey'> = {}, o?: Options) =>
        call('rotateKey', { params: { key_id }, body }, o),
      revoke: (key_id: string, o?: Options) => call('revokeKey', { params: { key_id } }, o),
    },
    /** Second factors of keys. */
    mfa: {
      enrol: (key_id: string, o?: Options) => call('enrolFactor', { params: { key_id } }, o),
      confirm: (key_id: string, code: string, o?: Options) =>
        call('confirmFactor', { params: { key_id }, body: { code } }, o),
      get: (key_id: string, o?: Options) => call('getFactor', { params: { key_id } }, o),
      remove: (key_id: string, o?: Options) => call('removeFactor', { params: { key_id } }, o),
    },
    /** The web console of the service. */
    console: {
      /** A token that signs a browser in once, with the key of this client: open `<url>/#link=<token>`. */
      createLink: (body: Body<'createConsoleLink'> = {}, o?: Options) => call('createConsoleLink', { body }, o),
      sessions: (query?: ListQuery<'listConsoleSessions'>, o?: Options) => list('listConsoleSessions', { query }, o),
      endSession: (session_id: string, o?: Options) => call('endConsoleSession', { params: { session_id } }, o),
    },
    /** What tools use as `{{secret.NAME}}`. Values can be set, but never read. */
    secrets: {
      set: (name: string, body: Body<'setSecret'>, o?: Options) => call('setSecret', { params: { name }, body }, o),
      list: (query?: ListQuery<'listSecrets'>, o?: Options) => list('listSecrets', { query }, o),
      delete: (name: string, o?: Options) => call('deleteSecret', { params: { name } }, o),
    },
    /** Model providers. Their keys can be set, but never read. */
    providers: {
      set: (name: string, body: Body<'setProvider'>, o?: Options) => call('setProvider', { params: { name }, body }, o),
      list: (query?: ListQuery<'listProviders'>, o?: Options) => list('listProviders', { query }, o),
      /** The models that the provider itself says it has. */
      models: (name: string, o?: Options) => call('listProviderModels', { params: { name } }, o),
      test: (name: string, body: Body<'testProvider'> = {}, o?: Options) =>
        call('testProvider', { params: { name }, body }, o),
      delete: (name: string, o?: Options) => call('deleteProvider', { params: { name } }, o),
    },
    audit: {
      list: (query?: ListQuery<'listAuditLog'>, o?: Options) => list('listAuditLog', { query }, o),
      head: (o?: Options) => call('getAuditHead', {}, o),
    },
    /** Version, queues, size of the database, configuration in force. */
    system: {
      get: (o?: Options) => call('getSystem', {}, o),
    },
    /** The telemetry of the node that answers. */
    telemetry: {
      get: (o?: Options) => call('getTelemetry', {}, o),
    },
    /** Sends any other request to the service. Resolves with the whole body of the reply. */
    async request(request: Call, o?: Options): Promise<unknown> {
      return readJson(await connection.send(request, o))
    },
  }
}

/** A run that waits for a person has no answer yet. */
function requireAnswer(data: InvocationResult | InvocationQueued): InvocationResult {
  if (!('status' in data)) return data
  const { request_id } = data
  throw new MoorageError('waiting', `The agent waits for a person: ${request_id}`, { status: 202, request_id })
}
