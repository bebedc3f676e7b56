// Made from the OpenAPI document by `npm run sdk:types`; not to be edited.
import type { Body, Caller, ListQuery } from './call.ts'
import type { RequestOptions } from './request.ts'

export function methods({ call, list, lines }: Caller) {
  return {
    invocations: {
      /** List invocations. With only the permission `invoke`, the list contains the invocations that the key started itself. */
      list: (agent_id: string, query?: ListQuery<'listInvocations'>, o?: RequestOptions) => list('listInvocations', { params: { agent_id }, query }, o),
      /** Get an invocation. Returns the receipt: the message, the version that answered, the tools and tokens it used, and how it ended. */
      get: (agent_id: string, request_id: string, o?: RequestOptions) => call('getInvocation', { params: { agent_id, request_id } }, o),
      /** Erase an invocation. Deletes the content of an invocation that has ended: its message, context, response and tool results, its log entries, callbacks and webhook events, the payload of the trigger delivery that started it, and the comments in its feedback. Replies kept for an Idempotency-Key are deleted too, so a repeated request returns 404, and so are files that came with the message or from its tools. The receipt is kept for accounting, without content and without the user; the scores of its feedback are kept too. Memories are not affected. */
      erase: (agent_id: string, request_id: string, o?: RequestOptions) => call('eraseInvocation', { params: { agent_id, request_id } }, o),
      /** Cancel an invocation. Returns the receipt when the run has actually stopped. Runs that it called as tools are cancelled too. If the invocation was already cancelled, returns 200 with the receipt; if it ended otherwise, 409. */
      cancel: (agent_id: string, request_id: string, o?: RequestOptions) => call('cancelInvocation', { params: { agent_id, request_id } }, o),
      /** Run steps (remote agents). Remote agents use this endpoint with their call's token to call tools, models and memory, ask people, and store values. Each result is stored under the step's ID. The steps of one request run in parallel. If the `status` is `done`, the reply contains the results. If it's `waiting`, the call ends, and the agent is called again when the run resumes. If the call has already ended, the request fails with 409. */
      takeSteps: (agent_id: string, request_id: string, body: Body<'takeSteps'>, o?: RequestOptions) => call('takeSteps', { params: { agent_id, request_id }, body }, o),
      /** Get an invocation's prompt. Returns what was sent to the model: instructions, history, recalled memories with their scores, the message, and the answers and tool results of earlier steps. Memories are read as they are now, so deleted ones are missing. `notes` lists how the reply differs from the original prompt. `left_out` lists what did not fit into the model's context window. Messages of more than 20,000 characters are cut; `characters` is the full length. The values of secrets are never returned. */
      prompt: (agent_id: string, request_id: string, query?: ListQuery<'getPrompt'>, o?: RequestOptions) => call('getPrompt', { params: { agent_id, request_id }, query }, o),
      /** Get an invocation's memories and deliveries. Returns the memories that the invocation wrote, and the webhook deliveries of the event sent when it ended. For its log entries, use `GET …/logs?request_id=`. */
      effects: (agent_id: string, request_id: string, o?: RequestOptions) => call('getEffects', { params: { agent_id, request_id } }, o),
      /** List invocations of all agents. Lists the receipts of all agents that the key has access to, ordered by creation time. */
      listAll: (query?: ListQuery<'listAllInvocations'>, o?: RequestOptions) => list('listAllInvocations', { query }, o),
    },
    approvals: {
      /** List approvals. Lists what people are asked to decide, and their decisions. With only the permission `invoke`, the list contains the approvals of runs that the key started itself. */
      list: (query?: ListQuery<'listApprovals'>, o?: RequestOptions) => list('listApprovals', { query }, o),
      /** Get an approval. If people were asked about a call twice, returns the later approval. */
      get: (agent_id: string, request_id: string, call_id: string, o?: RequestOptions) => call('getApproval', { params: { agent_id, request_id, call_id } }, o),
      /** Decide an approval. Approves or rejects a tool call, or answers a question. With an approval, you can change the arguments of the call. Each approval is decided once; later requests get 409. The key that started the run can decide only if the agent sets `approvals.self`. */
      decide: (agent_id: string, request_id: string, call_id: string, body: Body<'decideApproval'>, o?: RequestOptions) => call('decideApproval', { params: { agent_id, request_id, call_id }, body }, o),
    },
    feedback: {
      /** Give feedback. Rates the answer of an invocation that has ended. An invocation has one feedback for each `key`; giving it again replaces the score and the comment. With only the permission `invoke`, a key can rate the invocations that it started itself, and a user token can rate those of its user. An invocation can have feedback with up to 10 keys. If it's still running or was erased, the request fails with 409. */
      give: (agent_id: string, request_id: string, body: Body<'giveFeedback'>, o?: RequestOptions) => call('giveFeedback', { params: { agent_id, request_id }, body }, o),
      /** Get an invocation's feedback. Lists the feedback that an invocation has, one item for each key. */
      get: (agent_id: string, request_id: string, query?: ListQuery<'getFeedback'>, o?: RequestOptions) => list('getFeedback', { params: { agent_id, request_id }, query }, o),
      /** Delete feedback. Deletes the feedback with one key, including its score. */
      delete: (agent_id: string, request_id: string, query?: ListQuery<'deleteFeedback'>, o?: RequestOptions) => call('deleteFeedback', { params: { agent_id, request_id }, query }, o),
      /** List feedback. Lists the feedback of all agents that the key has access to. With only the permission `invoke`, the list contains the feedback of invocations that the key started itself. */
      list: (query?: ListQuery<'listFeedback'>, o?: RequestOptions) => list('listFeedback', { query }, o),
    },
    callbacks: {
      /** Create a callback. Creates a webhook for a single run. It is called when the run waits for a person and when it ends, or immediately if the run has already ended. Requests are signed, retried and limited like those of webhooks. The callback is deleted with the receipt. A run can have up to 10. */
      create: (agent_id: string, request_id: string, body: Body<'createCallback'>, o?: RequestOptions) => call('createCallback', { params: { agent_id, request_id }, body }, o),
      /** List callbacks. Lists the run's callbacks. The list doesn't include a callback's secret and the headers that it sends. */
      list: (agent_id: string, request_id: string, query?: ListQuery<'listCallbacks'>, o?: RequestOptions) => list('listCallbacks', { params: { agent_id, request_id }, query }, o),
      /** Get a callback. Returns a callback by its ID or name. */
      get: (agent_id: string, request_id: string, callback_id: string, o?: RequestOptions) => call('getCallback', { params: { agent_id, request_id, callback_id } }, o),
      /** Delete a callback. Deletes a callback by its ID or name. No further events are sent to it. */
      delete: (agent_id: string, request_id: string, callback_id: string, o?: RequestOptions) => call('deleteCallback', { params: { agent_id, request_id, callback_id } }, o),
    },
    files: {
      /** List files. With only the permission `invoke`, or with a key limited to one agent, the list contains the files that the key uploaded. With a user token, it contains that user's files. */
      list: (query?: ListQuery<'listFiles'>, o?: RequestOptions) => list('listFiles', { query }, o),
      /** Get a file. With only the permission `invoke`, a key has access to the files it uploaded itself. */
      get: (file_id: string, o?: RequestOptions) => call('getFile', { params: { file_id } }, o),
      /** Delete a file. The file's bytes are deleted in the background, unless another file in the project has the same content. */
      delete: (file_id: string, o?: RequestOptions) => call('deleteFile', { params: { file_id } }, o),
    },
    agents: {
      /** Create an agent. Only `name` is required: a new agent uses the built-in echo model. Setting `security` or `auth` requires the permission `manage`. If the name is taken, the request fails with 409. */
      create: (body: Body<'createAgent'>, o?: RequestOptions) => call('createAgent', { body }, o),
      /** List agents. A key limited to one agent sees only that agent. Agents whose own `security` refuses this request are left out. */
      list: (query?: ListQuery<'listAgents'>, o?: RequestOptions) => list('listAgents', { query }, o),
      /** List agents with their activity in the last 24 hours. Lists the agents of `GET /v1/agents` with the version they serve and their activity in the last 24 hours, in one request, for a dashboard's first page. With a user token, only that user's invocations are counted. */
      overview: (query?: ListQuery<'listOverview'>, o?: RequestOptions) => list('listOverview', { query }, o),
      /** Get an agent. Returns the agent's draft. Secrets in `auth` are returned as hints. `digest` is the SHA-256 hash of the fields that a deployment would save. */
      get: (agent_id: string, o?: RequestOptions) => call('getAgent', { params: { agent_id } }, o),
      /** Update an agent. Changes only the fields you send; an object such as `limits` is replaced as a whole. With `digest`, the request fails with 409 if the agent has changed since you read it. `status: paused` cancels active runs and refuses new invocations. Changing `security` or `auth` requires the permission `manage`. */
      update: (agent_id: string, body: Body<'updateAgent'>, o?: RequestOptions) => call('updateAgent', { params: { agent_id }, body }, o),
      /** Delete an agent. Cancels the active runs of the agent, and sends the event `agent.cancelled` for up to 500 of them. Then deletes the agent with its deployments, invocations, memory, logs, schedules, triggers and links, and everything that is limited to it: keys, webhooks and budgets. */
      delete: (agent_id: string, o?: RequestOptions) => call('deleteAgent', { params: { agent_id } }, o),
      /** Test a tool. Calls a tool once, as a run of the agent would: with its secrets, under the rules of `outgoing`, and with checked arguments. The call has real effects, and needs no approval. Nothing is stored except an entry in the audit log. */
      testTool: (agent_id: string, body: Body<'testTool'>, o?: RequestOptions) => call('testTool', { params: { agent_id }, body }, o),
      /** Check a remote agent. Checks whether a remote agent follows the contract, point by point. The check uses the draft's URL, headers and secret, and follows the rules of `outgoing`. The agent is called up to eight times; tools, models and people are simulated. For an A2A agent, only the agent card is read and no message is sent. Nothing is stored except an entry in the audit log. Allow up to 10 minutes for the whole check. If the agent isn't remote, the request fails with 409. */
      checkRemote: (agent_id: string, body: Body<'checkRemote'>, o?: RequestOptions) => call('checkRemote', { params: { agent_id }, body }, o),
      /** Move an agent to another project. Moves the agent with its versions, history, memory and schedules, the files of its runs and schedules, and the keys, webhooks and budgets limited to it. Personal keys that were created with a role in the old project stop working. From its next run on, the agent uses the new project's secrets and providers. Requires a key with access to all projects. If the other project has an agent with the same name, the request fails with 409; if it lacks the model's provider, with 400. */
      move: (agent_id: string, body: Body<'moveAgent'>, o?: RequestOptions) => call('moveAgent', { params: { agent_id }, body }, o),
    },
    keys: {
      /** List agents you can invoke. Returns each agent with its description. Agents whose own `security` refuses this request are left out; paused agents are included. A page can contain fewer agents than `limit` if their output schemas are large. */
      agents: (query?: ListQuery<'listInvocable'>, o?: RequestOptions) => list('listInvocable', { query }, o),
      /** Create an API key. The secret is returned only in this reply. A key can't grant more than it has: permissions, scope, tier and expiry. */
      create: (body: Body<'createKey'>, o?: RequestOptions) => call('createKey', { body }, o),
      /** List API keys. Secrets are never returned. A key limited to one agent sees only that agent's keys. */
      list: (query?: ListQuery<'listKeys'>, o?: RequestOptions) => list('listKeys', { query }, o),
      /** Get your own permissions. Returns the key's permissions, scope, tier and expiry. `tiers`, `default_tier` and `roles` list what it can grant to keys that it creates. */
      self: (o?: RequestOptions) => call('getSelf', {}, o),
      /** Get an API key. Returns the key's permissions and when it was last used, never its secret. */
      get: (key_id: string, o?: RequestOptions) => call('getKey', { params: { key_id } }, o),
      /** Revoke an API key. The key stops working immediately, including a secret in its grace period. Revoking it again has no effect. The last key with `manage` in all projects can't be revoked (409), unless a person was granted that role directly and not through a group. */
      revoke: (key_id: string, o?: RequestOptions) => call('revokeKey', { params: { key_id } }, o),
      /** Rotate an API key. The key keeps its ID and gets a new secret, returned only in this reply. The old secret works until the grace period ends, with exceptions: it can't create keys, roles, sessions, webhooks, schedules or triggers. It can't set an agent's `auth` or rotate the key again either. Secrets from earlier rotations keep their own grace periods; `grace_period_seconds: 0` ends all old secrets immediately. */
      rotate: (key_id: string, body: Body<'rotateKey'> = {}, o?: RequestOptions) => call('rotateKey', { params: { key_id }, body }, o),
    },
    deployments: {
      /** Deploy a version to an environment. Saves a snapshot of the agent as `version` and serves it in `environment`. A version never changes: if the label exists, its snapshot is deployed again. Active invocations finish on the version they started with. With `digest`, the request fails with 409 if the agent has changed since you read it. `warnings` lists what will fail in this version, such as a tool whose secret is not configured. With `strategy`, the version gets a growing share of the messages. With `require_replay`, nothing is served before the replay has passed. While such a deployment is in progress, others to the environment fail with 409. */
      create: (agent_id: string, body: Body<'createDeployment'>, o?: RequestOptions) => call('createDeployment', { params: { agent_id }, body }, o),
      /** List deployments. Lists what each environment serves, and what it served before. */
      list: (agent_id: string, query?: ListQuery<'listDeployments'>, o?: RequestOptions) => list('listDeployments', { params: { agent_id }, query }, o),
      /** Get a deployment. Returns the deployment with the agent's definition in that version. */
      get: (agent_id: string, deployment_id: string, o?: RequestOptions) => call('getDeployment', { params: { agent_id, deployment_id } }, o),
      /** Get a deployment by ID. Use this if you know the deployment's ID but not its agent. */
      find: (deployment_id: string, o?: RequestOptions) => call('findDeployment', { params: { deployment_id } }, o),
      /** Compare a deployment. Shows what a deployment changed compared to the one it replaced, or to another deployment of the agent. With `from=working_copy`, it shows how the deployment differs from the agent's draft. */
      diff: (agent_id: string, deployment_id: string, query?: ListQuery<'diffDeployment'>, o?: RequestOptions) => call('diffDeployment', { params: { agent_id, deployment_id }, query }, o),
      /** Roll back a deployment. With the ID of the active deployment, the environment returns to the version it served before. Versions that were rolled back since are skipped, even where an earlier deployment served them, so rolling back again goes further back. With the ID of an earlier deployment, the environment returns to that deployment. The request fails with 409 if there is nothing to return to. A rollback appends a new active deployment, and the reply is 200. `forget: true` also removes the memories that runs of the undone deployment have written, in the background; it requires the permission `delete`. `dry_run: true` changes nothing and shows what would change, with the number of those memories. */
      rollback: (agent_id: string, deployment_id: string, body: Body<'rollbackDeployment'> = {}, o?: RequestOptions) => call('rollbackDeployment', { params: { agent_id, deployment_id }, body }, o),
      /** Promote a gradual deployment. Serves the version for all messages now, without the remaining steps. The request fails with 409 while the deployment waits for its replay, and once it has ended. */
      promote: (agent_id: string, deployment_id: string, o?: RequestOptions) => call('promoteDeployment', { params: { agent_id, deployment_id } }, o),
      /** Pause a gradual deployment. Stops the step's clock. The version keeps its share of the messages, and the guard still aborts the deployment if the version is worse. */
      pause: (agent_id: string, deployment_id: string, o?: RequestOptions) => call('pauseDeployment', { params: { agent_id, deployment_id } }, o),
      /** Resume a gradual deployment. Starts the step's clock again. If the guard has paused the deployment, the comparison starts over with new answers. */
      resume: (agent_id: string, deployment_id: string, o?: RequestOptions) => call('resumeDeployment', { params: { agent_id, deployment_id } }, o),
      /** Abort a gradual deployment. Serves the previous version for all messages again. Active invocations finish on the version they started with. `forget: true` also removes the memories that runs of the version have written, in the background; it requires the permission `delete`. */
      abort: (agent_id: string, deployment_id: string, body: Body<'abortDeployment'> = {}, o?: RequestOptions) => call('abortDeployment', { params: { agent_id, deployment_id }, body }, o),
    },
    sets: {
      /** Set up a set. Saves messages that the agent should answer well, in place of a set with the same name. Write the cases yourself, or copy past invocations with `from`. A copy includes the answer, the results of tool calls, and the history and memories that the model saw, so it stays usable when the invocation is deleted. If an invocation or its user is erased, so is the copy. A set has at most 1,000 cases, and an agent at most 100 sets. */
      put: (agent_id: string, name: string, body: Body<'putSet'>, o?: RequestOptions) => call('putSet', { params: { agent_id, name }, body }, o),
      /** Get a set. Returns the set with its cases. */
      get: (agent_id: string, name: string, o?: RequestOptions) => call('getSet', { params: { agent_id, name } }, o),
      /** Delete a set. Deletes the set with its cases. Replays of the set keep their own copies. */
      delete: (agent_id: string, name: string, o?: RequestOptions) => call('deleteSet', { params: { agent_id, name } }, o),
      /** List sets. Lists the agent's sets, without their cases. */
      list: (agent_id: string, query?: ListQuery<'listSets'>, o?: RequestOptions) => list('listSets', { params: { agent_id }, query }, o),
    },
    replays: {
      /** Start a replay. Sends the cases of a set, or past invocations, to a version or the draft, and compares the answers with those of the deployed version or with the recorded ones. It runs in the background. Tools aren't called: results come from the recorded invocations, and a call that was never recorded is reported. Nothing is remembered, no webhook is sent, and no metric changes. Model calls cost the same as in runs, and count toward usage and budgets. An agent can have 10 running replays. */
      create: (agent_id: string, body: Body<'createReplay'>, o?: RequestOptions) => call('createReplay', { params: { agent_id }, body }, o),
      /** List replays. Lists the agent's replays with their verdicts. */
      list: (agent_id: string, query?: ListQuery<'listReplays'>, o?: RequestOptions) => list('listReplays', { params: { agent_id }, query }, o),
      /** Get a replay. Returns the progress, and when it has completed, the verdict and the report. */
      get: (agent_id: string, replay_id: string, o?: RequestOptions) => call('getReplay', { params: { agent_id, replay_id } }, o),
      /** List a replay's cases. Lists the cases with their answers in three columns: recorded, by the baseline, and by the candidate. */
      cases: (agent_id: string, replay_id: string, query?: ListQuery<'listReplayCases'>, o?: RequestOptions) => list('listReplayCases', { params: { agent_id, replay_id }, query }, o),
      /** Cancel a replay. Stops the replay. Answers that it already has are kept. If it was already cancelled, returns 200. */
      cancel: (agent_id: string, replay_id: string, o?: RequestOptions) => call('cancelReplay', { params: { agent_id, replay_id } }, o),
    },
    schedules: {
      /** Create a schedule. Sends `message` to the agent at each scheduled time, in the background. Set the times with `cron` in a `timezone`, an interval (`every`) or a single time (`at`). Runs have the permissions of the key that last changed the schedule. If that key is revoked or expires, the schedule is disabled. Tokens can't create schedules, because a schedule would outlive its token. */
      create: (agent_id: string, body: Body<'createSchedule'>, o?: RequestOptions) => call('createSchedule', { params: { agent_id }, body }, o),
      /** List schedules. Lists the agent's schedules with their next run and the number of runs that were missed or skipped. */
      list: (agent_id: string, query?: ListQuery<'listSchedules'>, o?: RequestOptions) => list('listSchedules', { params: { agent_id }, query }, o),
      /** Get a schedule. Returns the schedule with its next five times, and with the runs it missed or skipped. */
      get: (agent_id: string, schedule_id: string, o?: RequestOptions) => call('getSchedule', { params: { agent_id, schedule_id } }, o),
      /** Update a schedule. Changes only the fields you send. `cron`, `every` and `at` replace each other; sending the current value doesn't change the next run. From then on, runs have the permissions of the key that sends this request. A disabled schedule starts no runs and doesn't make up for them later. */
      update: (agent_id: string, schedule_id: string, body: Body<'updateSchedule'>, o?: RequestOptions) => call('updateSchedule', { params: { agent_id, schedule_id }, body }, o),
      /** Delete a schedule. The schedule starts no more runs. Runs it has already started continue, and their receipts are kept. */
      delete: (agent_id: string, schedule_id: string, o?: RequestOptions) => call('deleteSchedule', { params: { agent_id, schedule_id } }, o),
      /** Run a schedule now. Starts a background run like a scheduled one, with the permissions of the key that sends this request. This works even if the schedule is disabled or an earlier run is still active. The schedule's times don't change. While the agent is paused, the request fails with 409. */
      run: (agent_id: string, schedule_id: string, o?: RequestOptions) => call('runSchedule', { params: { agent_id, schedule_id } }, o),
    },
    triggers: {
      /** Create a trigger. Creates a URL (`address`) to which another service sends its events. Each verified request starts a background run. Runs have the permissions of the key that last changed the trigger. If that key is revoked or expires, the trigger is disabled. Tokens can't create triggers, because a trigger would outlive its token. */
      create: (agent_id: string, body: Body<'createTrigger'>, o?: RequestOptions) => call('createTrigger', { params: { agent_id }, body }, o),
      /** List triggers. Lists the agent's triggers with their URLs. Requires `write`, because a URL can be enough to start runs. */
      list: (agent_id: string, query?: ListQuery<'listTriggers'>, o?: RequestOptions) => list('listTriggers', { params: { agent_id }, query }, o),
      /** Get a trigger. Requires `write`, because its URL can be enough to start runs. */
      get: (agent_id: string, trigger_id: string, o?: RequestOptions) => call('getTrigger', { params: { agent_id, trigger_id } }, o),
      /** Update a trigger. Changes only the fields you send. From then on, runs have the permissions of the key that sends this request. A disabled trigger answers every request with 404. Its URL doesn't change. */
      update: (agent_id: string, trigger_id: string, body: Body<'updateTrigger'>, o?: RequestOptions) => call('updateTrigger', { params: { agent_id, trigger_id }, body }, o),
      /** Delete a trigger. Its URL returns 404 from then on, and its deliveries are deleted. Runs it has already started continue, and their receipts are kept. */
      delete: (agent_id: string, trigger_id: string, o?: RequestOptions) => call('deleteTrigger', { params: { agent_id, trigger_id } }, o),
      /** Test a trigger. Shows the message, user and session that a payload would lead to. With `run: true`, a payload that isn't filtered also starts a background run, with the permissions of the key that sends this request. Signatures and repeated events aren't checked. */
      test: (agent_id: string, trigger_id: string, body: Body<'testTrigger'> = {}, o?: RequestOptions) => call('testTrigger', { params: { agent_id, trigger_id }, body }, o),
      /** List a trigger's deliveries. Lists what the trigger received, and what became of it. Deliveries are kept for `retention.deliveries`. Of refused requests, at most 10 per minute are listed. */
      deliveries: (agent_id: string, trigger_id: string, query?: ListQuery<'listTriggerDeliveries'>, o?: RequestOptions) => list('listTriggerDeliveries', { params: { agent_id, trigger_id }, query }, o),
      /** Get a trigger's delivery. Returns the delivery with its payload and headers. Headers that can contain secrets are not stored. */
      delivery: (agent_id: string, trigger_id: string, delivery_id: string, o?: RequestOptions) => call('getTriggerDelivery', { params: { agent_id, trigger_id, delivery_id } }, o),
      /** Replay a delivery. Starts another background run with the delivery's payload and the trigger's current message template, with the permissions of the key that sends this request. The trigger's filter isn't applied, and the trigger can be disabled. If the payload isn't stored, the request fails with 409. */
      replay: (agent_id: string, trigger_id: string, delivery_id: string, o?: RequestOptions) => call('replayTriggerDelivery', { params: { agent_id, trigger_id, delivery_id } }, o),
    },
    links: {
      /** Create a link. Creates a URL at which everyone who has it can chat with the agent, without a key. Each visitor is a separate user and sees only their own conversation. If the agent has deployments, the environment's version answers, never the draft. Visitors can decide what their own runs ask only if the agent sets `approvals.self` and the link's creator has the permission `approve`. */
      create: (agent_id: string, body: Body<'createLink'>, o?: RequestOptions) => call('createLink', { params: { agent_id }, body }, o),
      /** List links. Lists the agent's links with their limits and how much of them was used. */
      list: (agent_id: string, query?: ListQuery<'listLinks'>, o?: RequestOptions) => list('listLinks', { params: { agent_id }, query }, o),
      /** Get a link. Returns the link, with its limits and how much of them was used. */
      get: (agent_id: string, link_id: string, o?: RequestOptions) => call('getLink', { params: { agent_id, link_id } }, o),
      /** Delete a link. The URL stops working. The runs that its visitors have started are cancelled and their streams end. The visitors' conversations are kept under invocations. */
      delete: (agent_id: string, link_id: string, o?: RequestOptions) => call('deleteLink', { params: { agent_id, link_id } }, o),
    },
    logs: {
      /** Get an agent's log entries. Lists entries of the runtime and the tools, newest first. Secrets are redacted before an entry is stored. With `search`, the service looks through up to 10,000 entries that match the other filters. If there are more, the reply has `pagination.searched_to`: send it as `end_time`, or as `start_time` with `sort=timestamp`. To follow a log, request `after=latest` first. Then send each `pagination.next_after` as `after`. Every entry is returned once, including entries stored late. */
      list: (agent_id: string, query?: ListQuery<'getLogs'>, o?: RequestOptions) => list('getLogs', { params: { agent_id }, query }, o),
    },
    metrics: {
      /** Get a metric of an agent over time. Counts each completed or failed invocation in the interval in which it ended. Intervals are whole and aligned to UTC: `start_time` is rounded down and `end_time` up. In an interval without invocations, throughput and sums are 0; other metrics have no value and are left out. `cost` leaves out invocations whose cost is not known. `feedback` is the average score given in the interval. With `environment`, `version` or `deployment_id`, only matching invocations are counted. With a user token, only that user's invocations are counted. */
      get: (agent_id: string, query: ListQuery<'getMetrics'>, o?: RequestOptions) => call('getMetrics', { params: { agent_id }, query }, o),
      /** Get all metrics of an agent over time. Returns requests, errors, response times, tokens, cost and feedback per interval, for a dashboard. With `environment`, `version` or `deployment_id`, only matching invocations are counted. Intervals are the same as for single metrics. Intervals without invocations are included, except those that have not started yet. With a user token, only that user's invocations are counted. */
      performance: (agent_id: string, query?: ListQuery<'getPerformance'>, o?: RequestOptions) => call('getPerformance', { params: { agent_id }, query }, o),
    },
    usage: {
      /** Get usage and costs. Sums up every call of a model or an embedder: in runs, including failed, retried and cancelled ones, in summaries, facts and memory, and in provider tests. With `Accept: text/csv`, returns the rows as CSV. A request that would return more than 5,000 rows is refused. */
      get: (query?: ListQuery<'getUsage'>, o?: RequestOptions) => call('getUsage', { query }, o),
      /** Reprice past usage. Applies current prices to past calls, if prices were missing or wrong. Each request handles 200 calls and returns where to continue; `moorage usage reprice` repeats it until nothing is left. Sums and receipts change with the calls; budgets don't. A call whose model has no price now keeps its cost. If the request is interrupted, send it again. */
      reprice: (body: Body<'repriceUsage'>, o?: RequestOptions) => call('repriceUsage', { body }, o),
    },
    prices: {
      /** List model prices. Lists models by name: those that the project's agents use or have used in the last 31 days, the embedder, and those with a price from `moorage.yaml` or the API. `source` shows where a price comes from. If a model has no price, the price is null, never 0. */
      list: (query?: ListQuery<'listPrices'>, o?: RequestOptions) => list('listPrices', { query }, o),
      /** Set a model price. Sets the project's price of a model, for calls from now on. With `*` as the model, it applies to all other models of the provider. URL-encode the model: a slash in its name is `%2F`. Setting a price again replaces it as a whole. If `moorage.yaml` has a price for the model, the request fails with 409. If the operator pays for the model, because its provider is in `moorage.yaml` or uses the operator's key, this requires a key with access to all projects. */
      set: (provider: string, model: string, body: Body<'setPrice'>, o?: RequestOptions) => call('setPrice', { params: { provider, model }, body }, o),
      /** Delete a model price. Deletes a price that was set through the API. The model then has the price from the built-in list of vendors, or no price. Prices in `moorage.yaml` stay. If the operator pays for the model, this requires a key with access to all projects. */
      delete: (provider: string, model: string, o?: RequestOptions) => call('deletePrice', { params: { provider, model } }, o),
    },
    memory: {
      /** Search memory. Returns the best matches first. `context` limits the search to one user, one session or both. Without it, all of the agent's memories are searched. */
      search: (agent_id: string, body: Body<'searchMemory'>, o?: RequestOptions) => list('searchMemory', { params: { agent_id }, body }, o),
      /** Write memories. Adds notes and facts, or turns of conversations that took place elsewhere. Either all items are written, or none. */
      write: (agent_id: string, body: Body<'writeMemory'>, o?: RequestOptions) => call('writeMemory', { params: { agent_id }, body }, o),
      /** List memories. Lists the agent's memories, newest first. Filter by user, session, kind or time. */
      list: (agent_id: string, query?: ListQuery<'listMemory'>, o?: RequestOptions) => list('listMemory', { params: { agent_id }, query }, o),
      /** Clear memory. Deletes the agent's memories up to now: all of them, or those of one user, of one session, or from before a given time. If the request is interrupted, send it again. */
      clear: (agent_id: string, query?: ListQuery<'clearMemory'>, o?: RequestOptions) => call('clearMemory', { params: { agent_id }, query }, o),
      /** Get a memory. Returns the memory's content, kind, owner and time. */
      get: (agent_id: string, memory_id: string, o?: RequestOptions) => call('getMemory', { params: { agent_id, memory_id } }, o),
      /** Update a memory. Changes only the fields you send; `metadata` is replaced as a whole. Search then uses the new content. The memory's user and session can't change. */
      update: (agent_id: string, memory_id: string, body: Body<'updateMemory'>, o?: RequestOptions) => call('updateMemory', { params: { agent_id, memory_id }, body }, o),
      /** Delete a memory. Search and recall no longer return the memory. */
      delete: (agent_id: string, memory_id: string, o?: RequestOptions) => call('deleteMemory', { params: { agent_id, memory_id } }, o),
      /** Get memory status. Returns the embedder's progress. When the embedding model changes, all memories of all agents get new vectors in the background. */
      status: (o?: RequestOptions) => call('getMemoryStatus', {}, o),
      /** Replace a session's summary. If the agent keeps summaries, the model sees this text from the next message on. The text replaces the summary of everything said so far. The model adds later turns to it. */
      replaceSummary: (agent_id: string, session_id: string, body: Body<'replaceSummary'>, query?: ListQuery<'replaceSummary'>, o?: RequestOptions) => call('replaceSummary', { params: { agent_id, session_id }, body, query }, o),
      /** Get a session's summary. Returns the summary of turns that no longer fit in the session history. The model sees it if the agent keeps summaries. */
      summary: (agent_id: string, session_id: string, query?: ListQuery<'getSummary'>, o?: RequestOptions) => call('getSummary', { params: { agent_id, session_id }, query }, o),
      /** Delete a session's summary. The session's turns are kept. If the agent keeps summaries, its model writes a new one from the first turn on. */
      deleteSummary: (agent_id: string, session_id: string, query?: ListQuery<'deleteSummary'>, o?: RequestOptions) => call('deleteSummary', { params: { agent_id, session_id }, query }, o),
    },
    users: {
      /** List users. Lists the users the agent has memories of, most recent first, with the number of their turns and notes and the time of the newest. */
      list: (agent_id: string, query?: ListQuery<'listUsers'>, o?: RequestOptions) => list('listUsers', { params: { agent_id }, query }, o),
      /** List sessions. Lists the conversations in the agent's memory, of all users or of one, most recent first. */
      sessions: (agent_id: string, query?: ListQuery<'listSessions'>, o?: RequestOptions) => list('listSessions', { params: { agent_id }, query }, o),
      /** Export a user. Returns a user's data for all agents that the key has access to, as JSON lines: files (download their bytes by ID), sign-ins to connections (without tokens), memories, session summaries, schedules, deliveries of triggers, receipts with people's decisions and feedback, and their log entries. A reply that breaks off is incomplete. */
      export: (user_id: string, o?: RequestOptions) => lines('exportUser', { params: { user_id } }, o),
      /** Erase a user. Erases a user's data for all agents that the key has access to: memories and session summaries, schedules, payloads of triggers, files, sign-ins to connections, the content of receipts and of their copies in sets and replays, comments in feedback, log entries, events and stored replies. A key limited to one agent deletes the files that came with that agent's runs; other files belong to the project. Receipts are kept for accounting, without content and without the user; the scores of their feedback are kept too. If the request is interrupted, send it again. It requires a one-time code if one of these agents requires one for `delete` or `clear_memory`. */
      erase: (user_id: string, o?: RequestOptions) => call('eraseUser', { params: { user_id } }, o),
    },
    webhooks: {
      /** Create a webhook. Events are sent to `url`, signed with the secret, which is returned only in this reply. A key limited to one agent must name that agent. Tokens can't create webhooks, because a webhook outlives its token. */
      create: (body: Body<'createWebhook'>, o?: RequestOptions) => call('createWebhook', { body }, o),
      /** List webhooks. Secrets are never returned. A key limited to one agent sees only that agent's webhooks. */
      list: (query?: ListQuery<'listWebhooks'>, o?: RequestOptions) => list('listWebhooks', { query }, o),
      /** Get a webhook. Returns the webhook with a hint of its secret, and shows whether it is failing and since when. */
      get: (webhook_id: string, o?: RequestOptions) => call('getWebhook', { params: { webhook_id } }, o),
      /** Update a webhook. Changes only the fields you send. While the webhook is disabled, nothing is sent and new events are skipped; deliveries that were already waiting are sent when you enable it again. */
      update: (webhook_id: string, body: Body<'updateWebhook'>, o?: RequestOptions) => call('updateWebhook', { params: { webhook_id }, body }, o),
      /** Delete a webhook. Deletes the webhook with its deliveries. Nothing more is sent to it. */
      delete: (webhook_id: string, o?: RequestOptions) => call('deleteWebhook', { params: { webhook_id } }, o),
      /** Rotate a webhook's secret. The new secret is returned only in this reply. Until the grace period ends, `webhook-signature` contains a signature with each secret; `X-Service-Signature` contains one, and uses the new secret immediately. Secrets from earlier rotations keep their own grace periods; `grace_period_seconds: 0` ends all old secrets immediately. */
      rotateSecret: (webhook_id: string, body: Body<'rotateWebhookSecret'> = {}, o?: RequestOptions) => call('rotateWebhookSecret', { params: { webhook_id }, body }, o),
      /** Send a test event. Sends a signed `ping` immediately, even to a disabled webhook, and returns the result. It is tried once and not recorded as a delivery. */
      test: (webhook_id: string, o?: RequestOptions) => call('testWebhook', { params: { webhook_id } }, o),
      /** List a webhook's deliveries. Lists deliveries with their latest attempts. Deliveries are kept for `retention.deliveries`. */
      deliveries: (webhook_id: string, query?: ListQuery<'listDeliveries'>, o?: RequestOptions) => list('listDeliveries', { params: { webhook_id }, query }, o),
      /** Get a delivery. Returns the delivery with its body. */
      delivery: (webhook_id: string, delivery_id: string, o?: RequestOptions) => call('getDelivery', { params: { webhook_id, delivery_id } }, o),
      /** Get a delivery by ID. Use this if you know the delivery's ID but not its webhook. */
      findDelivery: (delivery_id: string, o?: RequestOptions) => call('findDelivery', { params: { delivery_id } }, o),
      /** Redeliver an event. Sends the same event again immediately, with the same ID, body and retries, even if it was delivered before. */
      redeliver: (webhook_id: string, delivery_id: string, o?: RequestOptions) => call('redeliver', { params: { webhook_id, delivery_id } }, o),
    },
    listeners: {
      /** Listen for events. Creates a listener for a receiver without a public URL. The listener collects the events that a webhook would receive, and keeps them until you fetch them. It expires two minutes after its last request. `moorage webhooks listen` uses it to forward events to a server on your machine. */
      create: (body: Body<'createListener'>, o?: RequestOptions) => call('createListener', { body }, o),
      /** Get a listener's events. Returns at most ten events at a time. Each is returned again until you list it in `received`. Every request extends the listener's lifetime. Only the key that created the listener can use it. */
      get: (listener_id: string, query?: ListQuery<'getListener'>, o?: RequestOptions) => call('getListener', { params: { listener_id }, query }, o),
    },
    people: {
      /** Create a personal key. For people who are signed in. The key never has more permissions than your role in this project, and stops working when your role ends. The secret is returned only in this reply. */
      createPersonalKey: (body: Body<'createPersonalKey'>, o?: RequestOptions) => call('createPersonalKey', { body }, o),
      /** List your personal keys. For people who are signed in. Lists the keys that you created in this project. */
      personalKeys: (query?: ListQuery<'listPersonalKeys'>, o?: RequestOptions) => list('listPersonalKeys', { query }, o),
      /** Revoke a personal key. For people who are signed in. The key stops working immediately. Revoking it again has no effect. */
      revokePersonalKey: (key_id: string, o?: RequestOptions) => call('revokePersonalKey', { params: { key_id } }, o),
      /** List people. Lists the people with a role in this project. With access to all projects and no project named, lists everybody, including people who have signed in but have no role yet. */
      list: (query?: ListQuery<'listPeople'>, o?: RequestOptions) => list('listPeople', { query }, o),
      /** Get a person. Returns the person with their identities and their roles: in this project or, with access to all projects, everywhere. `email_verified` shows whether an identity provider has verified the address. Without access to all projects, people without a role in the project are not found. */
      get: (person_id: string, o?: RequestOptions) => call('getPerson', { params: { person_id } }, o),
      /** Delete a person. Deletes the person with their roles, personal keys and sessions, immediately. Their name and email address are erased; their ID stays in the audit log. If an identity provider still knows the person, they can sign in again with the same ID and the roles of their groups. Webhooks and service keys that they created belong to the project and keep working; the reply lists them for review. Requires access to all projects. The last service administrator can't be deleted: 409. */
      delete: (person_id: string, o?: RequestOptions) => call('deletePerson', { params: { person_id } }, o),
      /** Set or remove a person's role. Sets the person's role in this project, or in all projects. A role set here overrides roles from groups until it is removed. Keys that the person created lose the permissions that the new role doesn't have, and don't get them back later. Tokens, keys that expire and rotated secrets can't grant roles. The last service administrator's role can't be removed: 409. */
      setRole: (person_id: string, body: Body<'setPersonRole'>, o?: RequestOptions) => call('setPersonRole', { params: { person_id }, body }, o),
    },
    mfa: {
      /** Set up a second factor for a key. Creates a TOTP secret for an authenticator app, returned only in this reply. It takes effect once you confirm a first code. Requires another key with a second factor and its code in `X-Service-OTP`, so a stolen key can't set up its own. Set up the first second factor on the server with `moorage mfa enrol --local`. */
      enrol: (key_id: string, o?: RequestOptions) => call('enrolFactor', { params: { key_id } }, o),
      /** Get a key's second factor status. Returns whether the key has a second factor, and since when. Its secret is never returned. */
      get: (key_id: string, o?: RequestOptions) => call('getFactor', { params: { key_id } }, o),
      /** Remove a key's second factor. Requires another key with a second factor and its code in `X-Service-OTP`. */
      remove: (key_id: string, o?: RequestOptions) => call('removeFactor', { params: { key_id } }, o),
      /** Confirm a second factor. Sends the first code of a new second factor, which proves that the authenticator app has the secret. The factor then takes effect and replaces the earlier one. */
      confirm: (key_id: string, body: Body<'confirmFactor'>, o?: RequestOptions) => call('confirmFactor', { params: { key_id }, body }, o),
    },
    console: {
      /** Create a sign-in link. Creates a token that signs a browser in to the console once, within ten minutes, with the key that sent the request. Put the token after `#link=` in the console's URL: what follows a `#` is not sent to servers. With `--local` on the server, the link is for the oldest admin key, or for `key_id`. A secret in its grace period can't create links: 403. */
      createLink: (body: Body<'createConsoleLink'> = {}, o?: RequestOptions) => call('createConsoleLink', { body }, o),
      /** List console sessions. Lists who is signed in to the console, with which key or as which person, and from where. Without the permission `manage`, the list contains only your own sessions. */
      sessions: (query?: ListQuery<'listConsoleSessions'>, o?: RequestOptions) => list('listConsoleSessions', { query }, o),
      /** End a console session. Signs the browser out immediately, on every node. Without the permission `manage`, you can only end your own sessions. */
      endSession: (session_id: string, o?: RequestOptions) => call('endConsoleSession', { params: { session_id } }, o),
    },
    invitations: {
      /** Invite a person. Creates a one-time link that grants a role in this project to the person with this verified email address. The link stops working when the key or role that created it does. Tokens, keys that expire and rotated secrets can't create invitations. Put the token after `#invitation=` in the console's URL, and send the link yourself: the service sends no email. Without an identity provider in `console.oidc`, the request fails with 409. */
      create: (body: Body<'createInvitation'>, o?: RequestOptions) => call('createInvitation', { body }, o),
      /** List invitations. Lists this project's invitations. With access to all projects, invitations to all projects are included. Tokens are not returned. */
      list: (query?: ListQuery<'listInvitations'>, o?: RequestOptions) => list('listInvitations', { query }, o),
      /** Get an invitation. The token is not returned. */
      get: (invitation_id: string, o?: RequestOptions) => call('getInvitation', { params: { invitation_id } }, o),
      /** Revoke an invitation. The link stops working. A role it has already granted is kept. */
      revoke: (invitation_id: string, o?: RequestOptions) => call('revokeInvitation', { params: { invitation_id } }, o),
    },
    projects: {
      /** Create a project. Creates an isolated project. Agents, keys, webhooks, secrets, providers and audit entries belong to one project and can't be seen from others. Requires a key with access to all projects. To work in the project, name it in the header `Moorage-Project`. */
      create: (body: Body<'createProject'>, o?: RequestOptions) => call('createProject', { body }, o),
      /** List projects. A key limited to one project sees only that project. */
      list: (query?: ListQuery<'listProjects'>, o?: RequestOptions) => list('listProjects', { query }, o),
      /** Get a project. Identify the project by ID or name. */
      get: (project_id: string, o?: RequestOptions) => call('getProject', { params: { project_id } }, o),
      /** Update a project. Changes only the fields you send, including the fields of `limits`. A project that `console.oidc[].roles` refers to by name can't be renamed: 409. Requires access to all projects. The default project keeps its name. */
      update: (project_id: string, body: Body<'updateProject'>, o?: RequestOptions) => call('updateProject', { params: { project_id }, body }, o),
      /** Delete a project. Cancels the project's active runs and deletes its agents, keys, webhooks, secrets and providers immediately. Logs, metrics and memories are deleted in the background. Audit entries are kept. The event `project.deleted` is sent to webhooks of the default project. Requires access to all projects. The `security` of every agent in the project applies as if that agent were deleted: the request can fail with 403, or require a one-time code. The default project can't be deleted: 409. */
      delete: (project_id: string, query: ListQuery<'deleteProject'>, o?: RequestOptions) => call('deleteProject', { params: { project_id }, query }, o),
    },
    pauses: {
      /** Pause everything. Pauses all work in this project, or in the whole service, within a second and on every node. Active runs wait: their model calls are interrupted, and tool calls in progress can finish. Background runs, schedules and work on memory wait too. New messages get 409 `agent_paused` with the reason. `POST /v1/resume` continues all of it; scheduled runs that are more than a minute late are missed, unless their schedule catches up. Pausing again changes the reason. The event `project.paused` is sent to the project's webhooks, `service.paused` to those of the default project. */
      begin: (body: Body<'beginPause'>, o?: RequestOptions) => call('beginPause', { body }, o),
      /** Get the pause status. `project` and `service` are the current pauses, or null. */
      get: (o?: RequestOptions) => call('getPause', {}, o),
      /** Resume. Ends the pause of this project, or of the whole service. Waiting runs resume after their last step, on any node. A project with a pause of its own stays paused when the service resumes. */
      end: (body: Body<'endPause'> = {}, o?: RequestOptions) => call('endPause', { body }, o),
    },
    secrets: {
      /** Set a secret. From their next call on, tools can use the secret as `{{secret.NAME}}` in a header. The value is stored encrypted and never returned. Setting the secret again replaces the value. If `moorage.yaml` defines a secret with the same name, that one is used. Requires a key that is not limited to one agent. */
      set: (name: string, body: Body<'setSecret'>, o?: RequestOptions) => call('setSecret', { params: { name }, body }, o),
      /** Delete a secret. Tools that use the secret fail from their next call on. */
      delete: (name: string, o?: RequestOptions) => call('deleteSecret', { params: { name } }, o),
      /** List secrets. Returns names and hosts, never values. Secrets from `moorage.yaml` are not listed. */
      list: (query?: ListQuery<'listSecrets'>, o?: RequestOptions) => list('listSecrets', { query }, o),
    },
    connections: {
      /** Set a connection. Tools use it as `connection` of an MCP tool, or as `{{connection.NAME}}` in a header of an HTTP tool, from their next call on. The client secret is stored encrypted and never returned. Setting it again replaces it. Users stay signed in, unless the provider, the client, the scopes or `as` change. Requires a key that is not limited to one agent. */
      set: (name: string, body: Body<'setConnection'>, o?: RequestOptions) => call('setConnection', { params: { name }, body }, o),
      /** Get a connection. Its `redirect_uri` is what you enter at the provider. The client secret is never returned. */
      get: (name: string, o?: RequestOptions) => call('getConnection', { params: { name } }, o),
      /** Delete a connection. Ends every sign-in, here and at the provider if it supports revocation and responds. Tools that use the connection fail from their next call on, and runs that wait for a sign-in continue without it. If the request is interrupted, send it again. */
      delete: (name: string, o?: RequestOptions) => call('deleteConnection', { params: { name } }, o),
      /** List connections. Client secrets are never returned. */
      list: (query?: ListQuery<'listConnections'>, o?: RequestOptions) => list('listConnections', { query }, o),
      /** Test a connection. Does what a sign-in does before it sends a browser to the provider, and reports the result: finds the authorization server, and registers the service there if necessary. If you have set a `client_id`, it also checks whether the provider accepts the client, by refreshing a token that doesn't exist. No user is signed in. */
      test: (name: string, o?: RequestOptions) => call('testConnection', { params: { name } }, o),
      /** Create a connection's sign-in link. Returns a URL where the user signs in with the provider. It's valid for ten minutes and one sign-in. Afterwards your application confirms who was signed in to it (`…/links/{link_id}/confirm`); until then, the sign-in isn't used. Requires `server.publicUrl`. For `as: service`, it requires the permission `manage`. */
      createLink: (name: string, body: Body<'createConnectionLink'>, o?: RequestOptions) => call('createConnectionLink', { params: { name }, body }, o),
      /** Confirm a sign-in. Says which user of your application opened the link, and so has signed in. If it was the link's user, the sign-in is used from now on, in place of an earlier one, and runs that wait for it continue. For another user, the request fails with 403, and the sign-in stays pending; after three such requests it is discarded. Get the user from your own session, never from the URL. */
      confirmLink: (name: string, link_id: string, body: Body<'confirmConnectionLink'>, o?: RequestOptions) => call('confirmConnectionLink', { params: { name, link_id }, body }, o),
      /** List a connection's grants. Lists who has signed in. Tokens are never returned. With only the permission `invoke`, `user_id` is required. */
      grants: (name: string, query?: ListQuery<'listGrants'>, o?: RequestOptions) => list('listGrants', { params: { name }, query }, o),
      /** Revoke a user's grant. Ends the user's sign-in, here and at the provider if it supports revocation and responds. If the connection has `as: service`, use `service` as the user ID; this requires the permission `manage`. */
      revokeGrant: (name: string, user_id: string, o?: RequestOptions) => call('revokeGrant', { params: { name, user_id } }, o),
    },
    applications: {
      /** List connected applications. Lists the MCP clients that people have connected by signing in, such as claude.ai or Cursor. Without the permission `manage`, the list contains only the ones you connected. */
      list: (query?: ListQuery<'listConnectedApplications'>, o?: RequestOptions) => list('listConnectedApplications', { query }, o),
      /** Revoke a connected application. The application's tokens stop working and its streams end within seconds, on every node. Revoking it again has no effect. Without the permission `manage`, you can only revoke the ones you connected. */
      revoke: (application_id: string, o?: RequestOptions) => call('revokeConnectedApplication', { params: { application_id } }, o),
    },
    providers: {
      /** Set a model provider. From their next run on, agents can use models of this provider as `name/model`. The API key is stored encrypted and never returned. Setting the provider again replaces it as a whole; without `api_key`, the stored key is kept. If the origin of `base_url` changes, the request must contain `api_key`, or it fails with 400. Calls to the provider follow the rules of `outgoing`, like those of tools. If `moorage.yaml` defines the name, the request fails with 409. Requires a key that is not limited to one agent. */
      set: (name: string, body: Body<'setProvider'>, o?: RequestOptions) => call('setProvider', { params: { name }, body }, o),
      /** Delete a model provider. Agents that use the provider fail from their next run on. Only providers set through the API can be deleted; a provider with the same name in `moorage.yaml` stays. */
      delete: (name: string, o?: RequestOptions) => call('deleteProvider', { params: { name } }, o),
      /** List model providers. Lists the providers from `moorage.yaml` and those set through the API, by name. API keys are never returned. */
      list: (query?: ListQuery<'listProviders'>, o?: RequestOptions) => list('listProviders', { query }, o),
      /** List a provider's models. Asks the provider for its current list, and waits up to 15 seconds. If there is no list, `error` says why. */
      models: (name: string, o?: RequestOptions) => call('listProviderModels', { params: { name } }, o),
      /** Test a model provider. Asks the provider for its list of models, which costs nothing, and reports the result. If the provider has a key, the list is also requested without it, because a public list doesn't prove that the key works. With `model`, that model also answers one short message. */
      test: (name: string, body: Body<'testProvider'> = {}, o?: RequestOptions) => call('testProvider', { params: { name }, body }, o),
    },
    budgets: {
      /** Create a budget. Limits spending on model and embedder calls. Each call first reserves the most it could use in every budget that applies; when it ends, its actual usage is counted. A call that doesn't fit in a budget is refused with 429 `budget_exceeded`. Earlier spending is not counted. The scope `service` requires access to all projects. */
      create: (body: Body<'createBudget'>, o?: RequestOptions) => call('createBudget', { body }, o),
      /** List budgets. Lists this project's budgets with what was spent in the current period. With access to all projects, budgets of the service are included. */
      list: (query?: ListQuery<'listBudgets'>, o?: RequestOptions) => list('listBudgets', { query }, o),
      /** Get a budget. If each key or user has its own limit, `subject` selects whose usage is returned. */
      get: (budget_id: string, query?: ListQuery<'getBudget'>, o?: RequestOptions) => call('getBudget', { params: { budget_id }, query }, o),
      /** Update a budget. Changes only the fields you send; what was spent stays counted. To change the kind of limit, the scope or the period, create a new budget. */
      update: (budget_id: string, body: Body<'updateBudget'>, o?: RequestOptions) => call('updateBudget', { params: { budget_id }, body }, o),
      /** Delete a budget. The budget no longer limits anything. Usage records are kept. */
      delete: (budget_id: string, o?: RequestOptions) => call('deleteBudget', { params: { budget_id } }, o),
    },
    audit: {
      /** List the audit log. Lists every change and every refusal. Invocations have receipts instead. A key limited to one agent sees only that agent's entries. */
      list: (query?: ListQuery<'listAuditLog'>, o?: RequestOptions) => list('listAuditLog', { query }, o),
      /** Get the latest audit log entry's hash. Store the hash and its `seq` outside the service. `moorage audit verify --pinned SEQ:HASH` can then prove that no entry up to this one was changed. */
      head: (o?: RequestOptions) => call('getAuditHead', {}, o),
    },
    system: {
      /** Get service status. Returns the version, nodes, queues, the database's size and growth, and the current configuration without its secrets. Requires access to all projects. */
      get: (o?: RequestOptions) => call('getSystem', {}, o),
    },
    telemetry: {
      /** Get telemetry. Returns this node's own counters: requests, runs, queues, commits, caches, outgoing calls and memory. Prometheus scrapes the same data at `/metrics`. */
      get: (o?: RequestOptions) => call('getTelemetry', {}, o),
    },
  }
}
