// Made from the OpenAPI document by `npm run sdk:types`; not to be edited.
import type { Body, Caller, ListQuery } from './call.ts'
import type { RequestOptions } from './request.ts'

export function methods({ call, list, lines }: Caller) {
  return {
    invocations: {
      /** List invocations. With the permission `invoke` alone: what the key itself started. */
      list: (agent_id: string, query?: ListQuery<'listInvocations'>, o?: RequestOptions) => list('listInvocations', { params: { agent_id }, query }, o),
      /** Get an invocation. The receipt: what was asked, which version answered, with which tools and how many tokens, and how it ended. */
      get: (agent_id: string, request_id: string, o?: RequestOptions) => call('getInvocation', { params: { agent_id, request_id } }, o),
      /** Erase an invocation. Removes what was said from an invocation that has ended: message, context, response, results of tools, log entries, callbacks, replies kept for an Idempotency-Key, its events for webhooks, files that came with the message or that its tools made. The receipt stays for accounting, without words and without whose it was. What memory keeps of it is not touched. */
      erase: (agent_id: string, request_id: string, o?: RequestOptions) => call('eraseInvocation', { params: { agent_id, request_id } }, o),
      /** Cancel an invocation. Answers with the receipt once the work has really stopped. The runs that it has called as tools are cancelled too. Cancelled already: 200 with the receipt; ended otherwise: 409. */
      cancel: (agent_id: string, request_id: string, o?: RequestOptions) => call('cancelInvocation', { params: { agent_id, request_id } }, o),
      /** Ask for steps. For remote agents, with the token of their call: the service calls tools, asks models, people and memory, keeps values, and stores each result under its id. Steps of one request are done side by side. */
      takeSteps: (agent_id: string, request_id: string, body: Body<'takeSteps'>, o?: RequestOptions) => call('takeSteps', { params: { agent_id, request_id }, body }, o),
      /** Get what the model was shown. The instructions, the history, the recalled memories with their scores, the message, and the answers and results of the rounds before. The texts of memories are read from memory, so what was forgotten there is not shown here; `notes` tell what differs from what the model saw. */
      prompt: (agent_id: string, request_id: string, query?: ListQuery<'getPrompt'>, o?: RequestOptions) => call('getPrompt', { params: { agent_id, request_id }, query }, o),
      /** Get what an invocation left elsewhere. The memories that it wrote, and the deliveries of the event with which it ended. Its log entries: `GET …/logs?request_id=`. */
      effects: (agent_id: string, request_id: string, o?: RequestOptions) => call('getEffects', { params: { agent_id, request_id } }, o),
      /** List invocations of all agents. The receipts of every agent that the key may see, in the order in which the requests came. */
      listAll: (query?: ListQuery<'listAllInvocations'>, o?: RequestOptions) => list('listAllInvocations', { query }, o),
    },
    approvals: {
      /** List approvals. What people are asked before runs go on, and what they decided. With the permission `invoke` alone: of runs that the key itself started. */
      list: (query?: ListQuery<'listApprovals'>, o?: RequestOptions) => list('listApprovals', { query }, o),
      /** Get an approval */
      get: (agent_id: string, request_id: string, call_id: string, o?: RequestOptions) => call('getApproval', { params: { agent_id, request_id, call_id } }, o),
      /** Decide an approval. Approves a call, perhaps with other arguments, or rejects it; or answers a question. Decided once: 409 for everybody who comes later. The key that started the run may decide only if the agent says `approvals.self`. */
      decide: (agent_id: string, request_id: string, call_id: string, body: Body<'decideApproval'>, o?: RequestOptions) => call('decideApproval', { params: { agent_id, request_id, call_id }, body }, o),
    },
    callbacks: {
      /** Create a callback. A webhook for one run: it is told when the run waits for a person and when it has ended, at once if it has ended already. Signed, retried and limited as webhooks are. It goes with the receipt. */
      create: (agent_id: string, request_id: string, body: Body<'createCallback'>, o?: RequestOptions) => call('createCallback', { params: { agent_id, request_id }, body }, o),
      /** List callbacks */
      list: (agent_id: string, request_id: string, query?: ListQuery<'listCallbacks'>, o?: RequestOptions) => list('listCallbacks', { params: { agent_id, request_id }, query }, o),
      /** Get a callback. By its id, or by the name that you gave it. */
      get: (agent_id: string, request_id: string, callback_id: string, o?: RequestOptions) => call('getCallback', { params: { agent_id, request_id, callback_id } }, o),
      /** Delete a callback. By its id, or by the name that you gave it. Nothing more is sent to it. */
      delete: (agent_id: string, request_id: string, callback_id: string, o?: RequestOptions) => call('deleteCallback', { params: { agent_id, request_id, callback_id } }, o),
    },
    files: {
      /** List files. With the permission `invoke` alone, and with a key of one agent: what the key itself uploaded. A token that speaks for one user sees the files of that user. */
      list: (query?: ListQuery<'listFiles'>, o?: RequestOptions) => list('listFiles', { query }, o),
      /** Get a file. What is known of it. With the permission `invoke` alone: what the key itself uploaded. */
      get: (file_id: string, o?: RequestOptions) => call('getFile', { params: { file_id } }, o),
      /** Delete a file. Its bytes are removed in the background, unless another file of the project has the same. */
      delete: (file_id: string, o?: RequestOptions) => call('deleteFile', { params: { file_id } }, o),
    },
    agents: {
      /** Create an agent. Only `name` is required: a new agent answers at once with the built-in echo model. `security` and `auth` need the permission `manage`. */
      create: (body: Body<'createAgent'>, o?: RequestOptions) => call('createAgent', { body }, o),
      /** List agents. A key that is limited to one agent sees that agent only; agents whose own `security` the request does not pass are left out. */
      list: (query?: ListQuery<'listAgents'>, o?: RequestOptions) => list('listAgents', { query }, o),
      /** List agents with their last day. The agents of `GET /v1/agents`, each with what it serves and how the last 24 hours went: for the first page of a dashboard, in one request. For a token that speaks for one user, only invocations of that user count. */
      overview: (query?: ListQuery<'listOverview'>, o?: RequestOptions) => list('listOverview', { query }, o),
      /** Get an agent */
      get: (agent_id: string, o?: RequestOptions) => call('getAgent', { params: { agent_id } }, o),
      /** Update an agent. Changes the fields that are named; an object such as `limits` is replaced whole. With `digest` exactly what you know is changed, or nothing: 409. `status: paused` cancels what runs and refuses new invocations. `security` and `auth` need the permission `manage`. */
      update: (agent_id: string, body: Body<'updateAgent'>, o?: RequestOptions) => call('updateAgent', { params: { agent_id }, body }, o),
      /** Delete an agent. Cancels what runs, then removes the agent with its deployments, memory, logs, webhooks and scoped keys. */
      delete: (agent_id: string, o?: RequestOptions) => call('deleteAgent', { params: { agent_id } }, o),
      /** Test a tool. Calls a tool once, now, as a run of the agent would: with its secrets, under the rules of `outgoing`, arguments checked. The call has its effect, and no person is asked to approve it. Nothing is stored but an entry in the audit log. */
      testTool: (agent_id: string, body: Body<'testTool'>, o?: RequestOptions) => call('testTool', { params: { agent_id }, body }, o),
      /** Check a remote agent. Tries point by point whether a remote agent keeps the contract, as its working copy has it: with its address, its headers and its secret, under the rules of `outgoing`. The agent is called up to eight times; no tool is called, and no model or person is asked. Of an A2A agent the card is read, and no message is sent. Nothing is stored but an entry in the audit log. */
      checkRemote: (agent_id: string, body: Body<'checkRemote'>, o?: RequestOptions) => call('checkRemote', { params: { agent_id }, body }, o),
      /** Move an agent to another project. With its versions, history, memory, schedules, the files that its runs and schedules brought, and the keys, webhooks and budgets that are limited to it. Keys of people end that were made with a role in the old project: it does not count in the new one. It uses the secrets and providers of the new project from its next run on. Takes a key of all projects. */
      move: (agent_id: string, body: Body<'moveAgent'>, o?: RequestOptions) => call('moveAgent', { params: { agent_id }, body }, o),
    },
    keys: {
      /** List the agents that this key may invoke. With what each is for. Agents whose own `security` the request does not pass are left out. Paused agents are shown. A page of large output schemas ends early. */
      agents: (query?: ListQuery<'listInvocable'>, o?: RequestOptions) => list('listInvocable', { query }, o),
      /** Create an API key. The secret is in this reply only. A key cannot grant more than it has itself: permissions, scope, tier and expiry. */
      create: (body: Body<'createKey'>, o?: RequestOptions) => call('createKey', { body }, o),
      /** List API keys. Secrets are never shown. A key that is limited to one agent sees the keys of that agent only. */
      list: (query?: ListQuery<'listKeys'>, o?: RequestOptions) => list('listKeys', { query }, o),
      /** Say what this key, or this person, may do */
      self: (o?: RequestOptions) => call('getSelf', {}, o),
      /** Get an API key */
      get: (key_id: string, o?: RequestOptions) => call('getKey', { params: { key_id } }, o),
      /** Revoke an API key. Takes effect at once, also for a secret in its grace period. Revoking again changes nothing. The last key that may manage all projects cannot be revoked unless a person has that role by hand, not by a group: 409. */
      revoke: (key_id: string, o?: RequestOptions) => call('revokeKey', { params: { key_id } }, o),
      /** Rotate an API key. Same id, new secret, shown in this reply only. The old secret works until the grace period ends, but makes no key, role or session that outlives it, no webhook, schedule or `auth` of an agent, and does not rotate again. Secrets of earlier rotations keep their own grace periods; `grace_period_seconds: 0` ends all old secrets now. */
      rotate: (key_id: string, body: Body<'rotateKey'> = {}, o?: RequestOptions) => call('rotateKey', { params: { key_id }, body }, o),
    },
    deployments: {
      /** Deploy a version to an environment. Takes a snapshot of the agent under the label `version` and makes it what `environment` serves. A label never changes: one that exists is deployed as it was. Invocations under way finish on the version they started with. With `digest` exactly what you know is deployed, or nothing: 409. */
      create: (agent_id: string, body: Body<'createDeployment'>, o?: RequestOptions) => call('createDeployment', { params: { agent_id }, body }, o),
      /** List deployments */
      list: (agent_id: string, query?: ListQuery<'listDeployments'>, o?: RequestOptions) => list('listDeployments', { params: { agent_id }, query }, o),
      /** Get a deployment. With what it serves: the definition of the agent under its version. */
      get: (agent_id: string, deployment_id: string, o?: RequestOptions) => call('getDeployment', { params: { agent_id, deployment_id } }, o),
      /** Find a deployment by its id. The same as under its agent, for those who have nothing but the id. */
      find: (deployment_id: string, o?: RequestOptions) => call('findDeployment', { params: { deployment_id } }, o),
      /** Compare a deployment. What it changed: with the deployment that it replaced, with another one of the agent, or, with `from=working_copy`, how it differs from the agent as it is now. */
      diff: (agent_id: string, deployment_id: string, query?: ListQuery<'diffDeployment'>, o?: RequestOptions) => call('diffDeployment', { params: { agent_id, deployment_id }, query }, o),
      /** Roll back a deployment. The id of the active deployment undoes it: its environment returns to what it served before and what was not rolled back itself, so that rolling back twice goes further back. The id of an earlier one returns to that. 409 if nothing is left. Appends a new active deployment. `dry_run: true` changes nothing and shows what would change. */
      rollback: (agent_id: string, deployment_id: string, body: Body<'rollbackDeployment'> = {}, o?: RequestOptions) => call('rollbackDeployment', { params: { agent_id, deployment_id }, body }, o),
    },
    schedules: {
      /** Create a schedule. At each tick the agent is asked `message`, in the background. Ticks come by `cron` in a `timezone`, in intervals (`every`) or once (`at`). Its runs have the rights of the key that changed it last, and end with that key. A token cannot create one: it would outlive the token. */
      create: (agent_id: string, body: Body<'createSchedule'>, o?: RequestOptions) => call('createSchedule', { params: { agent_id }, body }, o),
      /** List schedules */
      list: (agent_id: string, query?: ListQuery<'listSchedules'>, o?: RequestOptions) => list('listSchedules', { params: { agent_id }, query }, o),
      /** Get a schedule. With its next five ticks, and with what became of those that began no run. */
      get: (agent_id: string, schedule_id: string, o?: RequestOptions) => call('getSchedule', { params: { agent_id, schedule_id } }, o),
      /** Update a schedule. Changes the fields that are named; `cron`, `every` and `at` replace each other, and one that is sent as it was moves no tick. From then on its runs have the rights of this key. While it is disabled no tick comes, and none is made up for. */
      update: (agent_id: string, schedule_id: string, body: Body<'updateSchedule'>, o?: RequestOptions) => call('updateSchedule', { params: { agent_id, schedule_id }, body }, o),
      /** Delete a schedule. No more ticks come. Runs that it has begun go on, and their receipts stay. */
      delete: (agent_id: string, schedule_id: string, o?: RequestOptions) => call('deleteSchedule', { params: { agent_id, schedule_id } }, o),
      /** Run a schedule now. Tries the schedule: begins a run in the background as a tick would, with the rights of this key, also while the schedule is disabled or an earlier run goes on. Its ticks stay as they are. */
      run: (agent_id: string, schedule_id: string, o?: RequestOptions) => call('runSchedule', { params: { agent_id, schedule_id } }, o),
    },
    logs: {
      /** Get an agent's log entries. What the runtime and the tools reported, newest first. Secrets are redacted before an entry is stored. A `search` looks through 10,000 entries that pass the other filters. When there are more, `pagination.searched_to` says how far it came: go on with that time as `end_time`, or as `start_time` with `sort=timestamp`. To follow a log, ask `after=latest` and then again and again after `pagination.next_after`: every entry comes once, also one that was stored late. */
      list: (agent_id: string, query?: ListQuery<'getLogs'>, o?: RequestOptions) => list('getLogs', { params: { agent_id }, query }, o),
    },
    metrics: {
      /** Get a metric of an agent over time. Counts invocations that completed or failed, in the bucket in which they ended. Buckets are aligned to the epoch in UTC and whole: `start_time` is rounded down and `end_time` up to the granularity. In a bucket without an invocation the throughput is 0; it has no response time and no error rate, and is left out. For a token that speaks for one user, only invocations of that user count. */
      get: (agent_id: string, query: ListQuery<'getMetrics'>, o?: RequestOptions) => call('getMetrics', { params: { agent_id }, query }, o),
      /** Get all metrics of an agent over time. What a dashboard shows, in one request: requests, errors and response times of each bucket. Counts and buckets are those of the metrics; buckets without an invocation are there as well, except those that have not begun. For a token that speaks for one user, only invocations of that user count. */
      performance: (agent_id: string, query?: ListQuery<'getPerformance'>, o?: RequestOptions) => call('getPerformance', { params: { agent_id }, query }, o),
    },
    usage: {
      /** Get what models have used and cost. Sums over every call of a model or an embedder: those of runs, also failed, retried and cancelled ones, of summaries, facts and memory, and of tests of providers. `Accept: text/csv` gets the rows as CSV. At most 5,000 rows are told; more are refused. */
      get: (query?: ListQuery<'getUsage'>, o?: RequestOptions) => call('getUsage', { query }, o),
      /** Apply the prices of now to past calls. For prices that were missing or wrong. One request looks at 200 calls and says where to go on; `moorage usage reprice` sends it until nothing is left. Sums and receipts change with the calls, counters of budgets do not. A call whose price is not known now keeps what it has. If it is interrupted, send it again. */
      reprice: (body: Body<'repriceUsage'>, o?: RequestOptions) => call('repriceUsage', { body }, o),
    },
    prices: {
      /** List what models cost. The models that agents of the project name or have used in the last 31 days, the embedder, and the models that have a price in `moorage.yaml` or through the API, by name. `source` says where a price comes from. A model whose price is unknown costs null, never 0. */
      list: (query?: ListQuery<'listPrices'>, o?: RequestOptions) => list('listPrices', { query }, o),
      /** Set what a model costs. A price of this project, for calls from now on. `*` as the model sets it for all other models of the provider. URL-encode the model: a slash in its name is `%2F`. Setting a price again replaces it as a whole. 409 if `moorage.yaml` has a price for the model, which wins. If the operator pays for the model, because its provider is in `moorage.yaml` or has a key of the operator, it takes a key of all projects. */
      set: (provider: string, model: string, body: Body<'setPrice'>, o?: RequestOptions) => call('setPrice', { params: { provider, model }, body }, o),
      /** Delete a price that the project has set. From now on the model costs what the list of public vendors says, or its price is unknown. Prices in `moorage.yaml` stay. If the operator pays for the model, it takes a key of all projects. */
      delete: (provider: string, model: string, o?: RequestOptions) => call('deletePrice', { params: { provider, model } }, o),
    },
    memory: {
      /** Search memory. Best first. `context` limits the search to one user, one session or both; without it everything the agent remembers is searched. */
      search: (agent_id: string, body: Body<'searchMemory'>, o?: RequestOptions) => list('searchMemory', { params: { agent_id }, body }, o),
      /** Write memories. Notes and facts for the agent to recall, or turns of conversations held elsewhere. All items are written or none. */
      write: (agent_id: string, body: Body<'writeMemory'>, o?: RequestOptions) => call('writeMemory', { params: { agent_id }, body }, o),
      /** List memories. What the agent remembers, the newest first, of one user, one session, one kind or one time. */
      list: (agent_id: string, query?: ListQuery<'listMemory'>, o?: RequestOptions) => list('listMemory', { params: { agent_id }, query }, o),
      /** Clear memory. Forgets what the agent remembered until now: all of it, or what one user, one session or the time before a moment has. If it is interrupted, send it again. */
      clear: (agent_id: string, query?: ListQuery<'clearMemory'>, o?: RequestOptions) => call('clearMemory', { params: { agent_id }, query }, o),
      /** Get a memory. What it says, of what kind it is, whose it is and when it was said. */
      get: (agent_id: string, memory_id: string, o?: RequestOptions) => call('getMemory', { params: { agent_id, memory_id } }, o),
      /** Update a memory. Changes the fields that are named; `metadata` is replaced whole. From then on it is found by what it says now. Its user and session stay. */
      update: (agent_id: string, memory_id: string, body: Body<'updateMemory'>, o?: RequestOptions) => call('updateMemory', { params: { agent_id, memory_id }, body }, o),
      /** Delete a memory. It is neither found nor recalled any more. */
      delete: (agent_id: string, memory_id: string, o?: RequestOptions) => call('deleteMemory', { params: { agent_id, memory_id } }, o),
      /** Get the status of memory. How far the embedder is: after a change of its model all memories of all agents get new vectors, in the background. */
      status: (o?: RequestOptions) => call('getMemoryStatus', {}, o),
      /** Replace the summary of a session. The model is shown this from the next message on, if the agent keeps summaries. It counts for all that was said so far; with later turns the model goes on from it. */
      replaceSummary: (agent_id: string, session_id: string, body: Body<'replaceSummary'>, query?: ListQuery<'replaceSummary'>, o?: RequestOptions) => call('replaceSummary', { params: { agent_id, session_id }, body, query }, o),
      /** Get the summary of a session. What the model is shown of the turns that are no longer in the history, if the agent keeps summaries. */
      summary: (agent_id: string, session_id: string, query?: ListQuery<'getSummary'>, o?: RequestOptions) => call('getSummary', { params: { agent_id, session_id }, query }, o),
      /** Delete the summary of a session. The turns stay. If the agent keeps summaries, its model makes it anew, from the first turn on. */
      deleteSummary: (agent_id: string, session_id: string, query?: ListQuery<'deleteSummary'>, o?: RequestOptions) => call('deleteSummary', { params: { agent_id, session_id }, query }, o),
    },
    users: {
      /** List users. Whom the agent remembers, how much of them and until when; the latest first. */
      list: (agent_id: string, query?: ListQuery<'listUsers'>, o?: RequestOptions) => list('listUsers', { params: { agent_id }, query }, o),
      /** List sessions. The conversations that the agent remembers, of every user or of one; the latest first. */
      sessions: (agent_id: string, query?: ListQuery<'listSessions'>, o?: RequestOptions) => list('listSessions', { params: { agent_id }, query }, o),
      /** Export a user. Everything that the agents in reach of the key know of a user, as JSON lines: files (their bytes are downloaded with their ids), memories, summaries of sessions, schedules, receipts with what people decided, and their log entries. */
      export: (user_id: string, o?: RequestOptions) => lines('exportUser', { params: { user_id } }, o),
      /** Erase a user. Erases what the agents in reach of the key know of a user: memory with the summaries of sessions, schedules, files, the texts of receipts, log entries, events and stored replies. A key of one agent removes those files that came with its runs; the others belong to the project. Receipts stay for accounting, without words and without whose they were. If it is interrupted, send it again. It needs a one-time code if one of these agents wants one for `delete` or `clear_memory`. */
      erase: (user_id: string, o?: RequestOptions) => call('eraseUser', { params: { user_id } }, o),
    },
    webhooks: {
      /** Create a webhook. Events are posted to `url`, signed with the secret that is in this reply only. A key that is limited to one agent must name that agent. A token cannot create one: it would outlive the token. */
      create: (body: Body<'createWebhook'>, o?: RequestOptions) => call('createWebhook', { body }, o),
      /** List webhooks. Secrets are never shown. A key that is limited to one agent sees the webhooks of that agent only. */
      list: (query?: ListQuery<'listWebhooks'>, o?: RequestOptions) => list('listWebhooks', { query }, o),
      /** Get a webhook */
      get: (webhook_id: string, o?: RequestOptions) => call('getWebhook', { params: { webhook_id } }, o),
      /** Update a webhook. Changes the fields that are named. While it is disabled, nothing is sent and new events pass it by; what was waiting is sent once it is enabled again. */
      update: (webhook_id: string, body: Body<'updateWebhook'>, o?: RequestOptions) => call('updateWebhook', { params: { webhook_id }, body }, o),
      /** Delete a webhook. Nothing more is sent to it, and its deliveries are removed. */
      delete: (webhook_id: string, o?: RequestOptions) => call('deleteWebhook', { params: { webhook_id } }, o),
      /** Rotate a webhook's secret. The new secret is in this reply only. Until the grace period ends `webhook-signature` carries a signature with each secret; `X-Service-Signature` has room for one and uses the new secret at once. Secrets of earlier rotations keep their own grace periods; `grace_period_seconds: 0` ends all old secrets now. */
      rotateSecret: (webhook_id: string, body: Body<'rotateWebhookSecret'> = {}, o?: RequestOptions) => call('rotateWebhookSecret', { params: { webhook_id }, body }, o),
      /** Send a test event. Sends a signed `ping` now, also to a disabled webhook, and says how it went. It is tried once and leaves no delivery. */
      test: (webhook_id: string, o?: RequestOptions) => call('testWebhook', { params: { webhook_id } }, o),
      /** List a webhook's deliveries. With every attempt that was made. Kept for `retention.deliveries`. */
      deliveries: (webhook_id: string, query?: ListQuery<'listDeliveries'>, o?: RequestOptions) => list('listDeliveries', { params: { webhook_id }, query }, o),
      /** Get a delivery. With the body that is sent. */
      delivery: (webhook_id: string, delivery_id: string, o?: RequestOptions) => call('getDelivery', { params: { webhook_id, delivery_id } }, o),
      /** Find a delivery by its id. The same as under its webhook, for those who have nothing but the id. */
      findDelivery: (delivery_id: string, o?: RequestOptions) => call('findDelivery', { params: { delivery_id } }, o),
      /** Deliver again. Sends the same event with the same id and body once more, at once and with all retries, whether or not it was delivered before. */
      redeliver: (webhook_id: string, delivery_id: string, o?: RequestOptions) => call('redeliver', { params: { webhook_id, delivery_id } }, o),
    },
    listeners: {
      /** Listen for events. For a receiver that has no public address: hears what a webhook would hear, and keeps it until it is asked. It ends two minutes after it was last asked. `moorage webhooks listen` forwards the events to a server on your machine. */
      create: (body: Body<'createListener'>, o?: RequestOptions) => call('createListener', { body }, o),
      /** Get what a listener has heard. At most ten events at a time, each again until it is named in `received`. To ask prolongs the life of the listener. Only the key that made it may ask. */
      get: (listener_id: string, query?: ListQuery<'getListener'>, o?: RequestOptions) => call('getListener', { params: { listener_id }, query }, o),
    },
    people: {
      /** Create a key of your own. For people who are signed in. The key may do no more than your role in this project, is narrowed with it, and ends with it. The secret is in this reply only. */
      createPersonalKey: (body: Body<'createPersonalKey'>, o?: RequestOptions) => call('createPersonalKey', { body }, o),
      /** List the keys of your own. For people who are signed in: the keys that they have made in this project. */
      personalKeys: (query?: ListQuery<'listPersonalKeys'>, o?: RequestOptions) => list('listPersonalKeys', { query }, o),
      /** Revoke a key of your own. For people who are signed in. Takes effect at once. Revoking again changes nothing. */
      revokePersonalKey: (key_id: string, o?: RequestOptions) => call('revokePersonalKey', { params: { key_id } }, o),
      /** List people. Those with a role in this project. An actor of all projects that names none sees everybody, also people who have signed in and have no role yet. */
      list: (query?: ListQuery<'listPeople'>, o?: RequestOptions) => list('listPeople', { query }, o),
      /** Get a person */
      get: (person_id: string, o?: RequestOptions) => call('getPerson', { params: { person_id } }, o),
      /** Remove a person. With their roles, their own keys and their sessions, at once. Their name and address are erased; their id stays in the audit log. A person for whom an identity provider still vouches can sign in again, has the same id, and has what their groups give. Webhooks and keys of services that they have made are the project's and go on: the reply names them, to be looked through. Takes an actor of all projects. The last administrator of the service stays: 409. */
      delete: (person_id: string, o?: RequestOptions) => call('deletePerson', { params: { person_id } }, o),
      /** Give a person a role, or take it away. In this project, or in all. A role that is given here stands over those of groups until it is taken away. Keys that the person has made keep no more than the new role allows, also if it becomes larger again later. To give one takes a right that does not end by itself: neither a token, nor a key that expires, nor a secret that was replaced. The last administrator of the service stays: 409. */
      setRole: (person_id: string, body: Body<'setPersonRole'>, o?: RequestOptions) => call('setPersonRole', { params: { person_id }, body }, o),
    },
    mfa: {
      /** Give a key a second factor. Makes a TOTP secret for an authenticator app; it is in this reply only, and counts once a first code of it was confirmed. Needs another key with a second factor and its code in `X-Service-OTP`: a stolen key cannot give itself one. The first factor of all is made on the host, with `moorage mfa enrol`. */
      enrol: (key_id: string, o?: RequestOptions) => call('enrolFactor', { params: { key_id } }, o),
      /** Say whether a key has a second factor */
      get: (key_id: string, o?: RequestOptions) => call('getFactor', { params: { key_id } }, o),
      /** Remove a key's second factor. Needs another key with a second factor and its code in `X-Service-OTP`, as giving one does. */
      remove: (key_id: string, o?: RequestOptions) => call('removeFactor', { params: { key_id } }, o),
      /** Confirm a second factor. The first code of a new factor puts it in force, in place of the one before: it shows that the secret arrived in the app. */
      confirm: (key_id: string, body: Body<'confirmFactor'>, o?: RequestOptions) => call('confirmFactor', { params: { key_id }, body }, o),
    },
    console: {
      /** Create a sign-in link. A token that signs a browser in to the console once, within ten minutes, with the key that asks for it. Put it behind `#link=`: what follows a `#` is not sent to servers. On the host it is for the oldest key that may do everything, or for `key_id`. */
      createLink: (body: Body<'createConsoleLink'> = {}, o?: RequestOptions) => call('createConsoleLink', { body }, o),
      /** List sessions of the console. Who is signed in to the console, with which key or as which person, from where. Without `manage`: own sessions. */
      sessions: (query?: ListQuery<'listConsoleSessions'>, o?: RequestOptions) => list('listConsoleSessions', { query }, o),
      /** End a session of the console. The browser is signed out at once, on every node. Without `manage`: own sessions only. */
      endSession: (session_id: string, o?: RequestOptions) => call('endConsoleSession', { params: { session_id } }, o),
    },
    invitations: {
      /** Invite a person. Makes a link that gives a role in this project, once, to the person whose identity provider has verified the address. It ends when the key or the role with which it was made does, and takes a right that does not end by itself: neither a token, nor a key that expires, nor a secret that was replaced. Put the token behind `#invitation=` at the address of the console, and send the link yourself: the service sends no mail. Without an identity provider in `console.oidc`: 409. */
      create: (body: Body<'createInvitation'>, o?: RequestOptions) => call('createInvitation', { body }, o),
      /** List invitations. Of this project; an actor of all projects also sees those for all. Tokens are never shown again. */
      list: (query?: ListQuery<'listInvitations'>, o?: RequestOptions) => list('listInvitations', { query }, o),
      /** Get an invitation */
      get: (invitation_id: string, o?: RequestOptions) => call('getInvitation', { params: { invitation_id } }, o),
      /** Take an invitation back. Its link is worth nothing from now on. A role that it has given stays. */
      revoke: (invitation_id: string, o?: RequestOptions) => call('revokeInvitation', { params: { invitation_id } }, o),
    },
    projects: {
      /** Create a project. A room of its own: agents, keys, webhooks, secrets, providers and audit entries belong to one project, and nothing of it is seen from another. Takes a key of all projects. Further requests name the project in the header `Moorage-Project`. */
      create: (body: Body<'createProject'>, o?: RequestOptions) => call('createProject', { body }, o),
      /** List projects. A key of one project sees that project only. */
      list: (query?: ListQuery<'listProjects'>, o?: RequestOptions) => list('listProjects', { query }, o),
      /** Get a project. By its id or name. */
      get: (project_id: string, o?: RequestOptions) => call('getProject', { params: { project_id } }, o),
      /** Update a project. Changes the fields that are named, of `limits` too. A project that `console.oidc[].roles` names keeps its name: 409. Takes a key of all projects. */
      update: (project_id: string, body: Body<'updateProject'>, o?: RequestOptions) => call('updateProject', { params: { project_id }, body }, o),
      /** Delete a project. Cancels what runs in it and removes its agents, keys, webhooks, secrets and providers at once; their logs, metrics and memories follow in the background. The audit log keeps its entries. The event `project.deleted` goes to webhooks of the default project. Takes a key of all projects. The `security` of each agent in it applies, as if that agent were deleted: 403 if the request does not pass, and a one-time code if one of them wants it for `delete`. */
      delete: (project_id: string, query: ListQuery<'deleteProject'>, o?: RequestOptions) => call('deleteProject', { params: { project_id }, query }, o),
    },
    pauses: {
      /** Pause everything. Stops all that this project does and that may cost money, or all that the service does, within a second on every node. Runs under way wait: their model calls are ended, tools that are being called may finish. Runs in the background, schedules and the work on memory wait too. New messages get 409 `agent_paused` with the reason. Nothing is lost: `POST /v1/resume` goes on with all of it. */
      begin: (body: Body<'beginPause'>, o?: RequestOptions) => call('beginPause', { body }, o),
      /** See whether everything is paused */
      get: (o?: RequestOptions) => call('getPause', {}, o),
      /** Go on after a pause. Ends the pause of this project, or of the service. Runs that wait go on after their last step, on any node. A project that is paused for itself stays so when the service goes on. */
      end: (body: Body<'endPause'> = {}, o?: RequestOptions) => call('endPause', { body }, o),
    },
    secrets: {
      /** Set a secret. Tools use it as `{{secret.NAME}}` in a header, from their next call on. It is stored encrypted, and no reply ever shows it. Setting it again replaces it. A secret of the same name in `moorage.yaml` wins. */
      set: (name: string, body: Body<'setSecret'>, o?: RequestOptions) => call('setSecret', { params: { name }, body }, o),
      /** Delete a secret. Tools that name it fail from their next call on. */
      delete: (name: string, o?: RequestOptions) => call('deleteSecret', { params: { name } }, o),
      /** List secrets. Names and hosts, never values. Those of `moorage.yaml` are not among them. */
      list: (query?: ListQuery<'listSecrets'>, o?: RequestOptions) => list('listSecrets', { query }, o),
    },
    providers: {
      /** Set a model provider. Agents use it as `name/model`, from their next run on. Its key is stored encrypted, and no reply ever shows it. Setting it again replaces it as a whole, except for its key: without `api_key` the stored one stays while the origin of the address does, and 400 asks for it with another origin. It is called under the rules of `outgoing`, as tools are. 409 for a name that `moorage.yaml` has. */
      set: (name: string, body: Body<'setProvider'>, o?: RequestOptions) => call('setProvider', { params: { name }, body }, o),
      /** Delete a model provider. Agents that name it fail from their next run on. It deletes what was set through the API; one of the same name in `moorage.yaml` stays. */
      delete: (name: string, o?: RequestOptions) => call('deleteProvider', { params: { name } }, o),
      /** List model providers. Those of `moorage.yaml` and those that were set through the API, by name. Keys are never shown. */
      list: (query?: ListQuery<'listProviders'>, o?: RequestOptions) => list('listProviders', { query }, o),
      /** List the models of a provider. Asks the provider itself, now, and waits up to 15 seconds. */
      models: (name: string, o?: RequestOptions) => call('listProviderModels', { params: { name } }, o),
      /** Test a model provider. Asks the provider for its list of models, which costs nothing, and says how it went. A provider with a key is asked for the list without it, too: a public list does not prove the key. With `model` it also has that model answer one short message. */
      test: (name: string, body: Body<'testProvider'> = {}, o?: RequestOptions) => call('testProvider', { params: { name }, body }, o),
    },
    budgets: {
      /** Create a budget. Limits what calls of models and embedders may spend. Before each call the most that it can use is reserved in every budget over it; what it has used is counted when it ends. A call that finds no room is refused: 429 `budget_exceeded`. What was spent before the budget was made does not count. Scope `service` takes a key of all projects. */
      create: (body: Body<'createBudget'>, o?: RequestOptions) => call('createBudget', { body }, o),
      /** List budgets. Of this project, with what was spent of each in its period. An actor of all projects also sees those of the service. */
      list: (query?: ListQuery<'listBudgets'>, o?: RequestOptions) => list('listBudgets', { query }, o),
      /** Get a budget */
      get: (budget_id: string, query?: ListQuery<'getBudget'>, o?: RequestOptions) => call('getBudget', { params: { budget_id }, query }, o),
      /** Update a budget. Changes the fields that are named; what was spent stays counted. A limit of another kind, another scope or another period is another budget: make a new one. */
      update: (budget_id: string, body: Body<'updateBudget'>, o?: RequestOptions) => call('updateBudget', { params: { budget_id }, body }, o),
      /** Delete a budget. It limits nothing from now on. The ledger keeps what was spent. */
      delete: (budget_id: string, o?: RequestOptions) => call('deleteBudget', { params: { budget_id } }, o),
    },
    audit: {
      /** List the audit log. Every change and every refusal. Invocations leave receipts instead. A key that is limited to one agent sees the entries of that agent only. */
      list: (query?: ListQuery<'listAuditLog'>, o?: RequestOptions) => list('listAuditLog', { query }, o),
      /** Get the end of the audit chain. Note it somewhere else: `moorage audit verify --pinned SEQ:HASH` proves later that nothing up to there was changed since. */
      head: (o?: RequestOptions) => call('getAuditHead', {}, o),
    },
    system: {
      /** Get the state of the service. Version, nodes, queues, size of the database and how it grows, and the configuration in force without its secrets. For a key for the whole service. */
      get: (o?: RequestOptions) => call('getSystem', {}, o),
    },
    telemetry: {
      /** Get telemetry. What the node that answers counts of itself: requests, runs, queues, commits, caches, outgoing calls, memory. Prometheus reads the same at `/metrics`. */
      get: (o?: RequestOptions) => call('getTelemetry', {}, o),
    },
  }
}
