import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Task, TaskState } from '@a2a-js/sdk'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type OpenAI from 'openai'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { checkEvents, gathered, openaiClient } from '../support/clients/openai.ts'
import { type AuthorizationServer, startAuthorizationServer } from '../support/outside/authorization-server.ts'
import { startModelServer } from '../support/outside/model-server.ts'
import { signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { Browser, CONNECTED, PUBLIC_URL, toServer, whoamiAgent } from '../support/slices/connections.ts'
import { LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'

const SECRET = 'the secret with which this agent alone is asked'

const { TASK_STATE_AUTH_REQUIRED, TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED } = TaskState

onAnyEngine(
  'a run that waits for a sign-in, on every channel',
  (service) => {
    let server: AuthorizationServer
    let agent: string
    before(async () => {
      server = await startAuthorizationServer()
      await service().call('PUT', '/v1/connections/desk', { body: toServer(server) })
      agent = await newAgent(service(), { ...whoamiAgent(server), auth: { type: 'jwt', secret: SECRET } })
    })
    after(() => server.close())

    const keyOf = (user_id: string) => signJwt({ user_id, permissions: ['read', 'invoke'] }, { secret: SECRET })
    const wordsOf = (task: Task | undefined) => {
      const content = task?.status?.message?.parts[0]?.content
      return content?.$case === 'text' ? content.value : ''
    }
    const LINK = new RegExp(`^Sign in to desk: ${PUBLIC_URL}/connect/(lnk_\\w+)/\\S+$`)

    test('A2A: the task is auth-required with the link, also in lists and notifications, and completes by itself', async (t) => {
      const inbox = await openInbox(t)
      const client = await connectA2a(service(), agent, { key: await keyOf('ann') })
      const push = { tenant: '', id: '', taskId: '', url: inbox.url, token: '', authentication: undefined }
      const task = (await client.sendMessage(saying('Who am I?', { push }))) as Task
      assert.equal(task.status?.state, TASK_STATE_AUTH_REQUIRED)
      const [, link_id = ''] = LINK.exec(wordsOf(task)) ?? []
      assert.ok(link_id, wordsOf(task))
      const list = { tenant: '', contextId: '', pageToken: '', statusTimestampAfter: undefined }
      const { tasks } = await client.listTasks({ ...list, status: TASK_STATE_INPUT_REQUIRED })
      assert.deepEqual([tasks[0]?.status?.state, wordsOf(tasks[0])], [TASK_STATE_AUTH_REQUIRED, wordsOf(task)])
      const states = []
      for await (const { payload } of client.resubscribeTask({ tenant: '', id: task.id })) {
        if (payload?.$case === 'statusUpdate') states.push(payload.value.status?.state)
        if (states.length > 0) break
      }
      assert.deepEqual(states, [TASK_STATE_AUTH_REQUIRED])
      await assert.rejects(client.sendMessage(saying('ann', { taskId: task.id })), /when the user has signed in/)
      const told = await until('the notification', () => inbox.arrivals[0])
      const { status } = JSON.parse(told.body).task
      assert.equal(status.state, 'TASK_STATE_AUTH_REQUIRED')
      assert.match(status.message.parts[0].text, LINK)

      server.next = 'ann'
      assert.equal((await new Browser(service).signIn(wordsOf(task).replace('Sign in to desk: ', ''))).status, 200)
      const path = `/v1/connections/desk/links/${link_id}/confirm`
      assert.equal((await service().call('POST', path, { body: { user_id: 'ann' } })).status, 200)
      await until('it completes', async () => {
        const { status: now } = await client.getTask({ tenant: '', id: task.id })
        return now?.state === TASK_STATE_COMPLETED
      })
    })

    test('A2A: a task that also asks a question needs an answer, because the sign-in alone is not enough', async (t) => {
      const model = await startModelServer()
      t.after(() => model.close())
      const provider = { type: 'openai', base_url: model.url, api_key: 'sk-x' }
      assert.ok((await service().call('PUT', '/v1/providers/both', { body: provider })).status < 300)
      const question = { name: 'ask_person', arguments: { question: 'Which berth?' } }
      model.reply({ calls: [{ name: 'whoami', arguments: {} }, question] })
      const { tools } = whoamiAgent(server)
      const asking = await newAgent(service(), {
        model: 'both/test-model',
        tools: [...tools, { type: 'ask_person' }],
        auth: { type: 'jwt', secret: SECRET },
      })
      const client = await connectA2a(service(), asking, { key: await keyOf('fay') })
      const task = (await client.sendMessage(saying('Who am I, and where?'))) as Task
      assert.deepEqual([task.status?.state, wordsOf(task)], [TASK_STATE_INPUT_REQUIRED, 'Which berth?'])
    })

    test('MCP: the answer of the tool, its progress and its task have the link', async (t) => {
      // Version 1 of the official client has tasks.
      const client = new Client({ name: 'test', version: '1' })
      const headers = { Authorization: `Bearer ${await keyOf('bob')}` }
      const url = new URL(`${service().url}/v1/agents/${agent}/mcp`)
      const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } })
      t.after(() => client.close())
      await client.connect(transport as Parameters<typeof client.connect>[0])
      const [{ name = '' } = {}] = (await client.listTools()).tools
      const progress: string[] = []
      const call = { name, arguments: { message: 'Who am I?' } }
      const { content } = await client.callTool(call, undefined, {
        onprogress: ({ message = '' }) => progress.push(message),
      })
      const [part] = content as { text: string }[]
      assert.match(
        part?.text ?? '',
        /^Receipt req_\w+: Sign in to desk: https:\/\/agents\.test\/moorage\/connect\/lnk_/,
      )
      assert.ok(
        progress.some((words) => LINK.test(words)),
        progress.join(),
      )
      const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, { task: {} })
      const { value: created } = await stream.next()
      assert.ok(created?.type === 'taskCreated')
      const { taskId } = created.task
      const words = await until('it waits', async () => (await client.experimental.tasks.getTask(taskId)).statusMessage)
      assert.match(words, LINK)
      await client.experimental.tasks.cancelTask(taskId)
    })

    test('OpenAI: the error of a chat completion has the link', async () => {
      const body = { model: agent, messages: [{ role: 'user', content: 'Who am I?' }], user: 'cid' }
      const reply = await service().call('POST', '/v1/chat/completions', { body })
      assert.equal(reply.body.error.code, 'run_waits', reply.text)
      assert.match(reply.body.error.message, /is waiting for a sign-in \(Sign in to desk: https:\/\/agents\.test\S+\)/)
    })

    test('OpenAI: a response comments where to sign in, also when it is read or repeated, until it has the answer', async () => {
      const client = openaiClient(service())
      const input = { model: agent, input: 'Who am I?', user: 'dan' }
      const waiting = await client.responses.create(input)
      assert.deepEqual([waiting.status, waiting.output.length], ['in_progress', 1])
      assert.match(waiting.output_text, LINK)
      const background = await client.responses.create({ ...input, background: true })
      const words = await until('it waits', async () => (await client.responses.retrieve(background.id)).output_text)
      assert.equal(words, waiting.output_text)
      const headers = { 'Idempotency-Key': 'a-response-that-waits' }
      for (let i = 0; i < 2; i++) {
        const events = await gathered(await client.responses.create({ ...input, stream: true }, { headers }))
        checkEvents(events)
        assert.deepEqual(
          events.map(({ type }) => type),
          ['response.created', 'response.in_progress', 'response.in_progress'],
        )
        const last = events.at(-1)
        assert.ok(last?.type === 'response.in_progress')
        assert.equal(last.response.output_text, words)
      }
      const watched = await client.responses.create({ ...input, background: true, stream: true })
      const seen: OpenAI.Responses.ResponseStreamEvent[] = []
      const reading = (async () => {
        for await (const event of watched) seen.push(event)
      })()
      const told = await until('the stream says where', async () =>
        seen.find((event) => event.type === 'response.in_progress' && event.response.output_text !== ''),
      )
      assert.ok(told.type === 'response.in_progress')
      assert.equal(told.response.output_text, words)
      server.next = 'dan'
      assert.equal((await new Browser(service).signIn(words.replace('Sign in to desk: ', ''))).status, 200)
      const path = `/v1/connections/desk/links/${LINK.exec(words)?.[1]}/confirm`
      assert.equal((await service().call('POST', path, { body: { user_id: 'dan' } })).status, 200)
      for (const { id } of [waiting, background]) {
        await until('it completes', async () => (await client.responses.retrieve(id)).status === 'completed')
        assert.match((await client.responses.retrieve(id)).output_text, /^Upstream: you are dan,/)
      }
      await reading
      checkEvents(seen.filter((event) => event !== told))
      const last = seen.at(-1)
      assert.ok(last?.type === 'response.completed')
      assert.match(last.response.output_text, /^Upstream: you are dan,/)
    })

    test('AG-UI: the interrupt names the connection and has the link, also in its message', async () => {
      const body = { threadId: 'quay', runId: '1', forwardedProps: { user_id: 'eva' } }
      const sent = { ...body, protocolVersion: '1.0', messages: [{ id: '1', role: 'user', content: 'Who am I?' }] }
      const reply = await service().call('POST', `/v1/agents/${agent}/ag-ui`, {
        body: sent,
        key: await keyOf('eva'),
      })
      const events = [...reply.text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
      const { type, interrupts } = events.at(-1).outcome
      const [{ reason, message, metadata }] = interrupts
      assert.deepEqual([type, interrupts.length, reason], ['interrupt', 1, 'sign_in'])
      assert.match(message, LINK)
      const { name, url, link_id } = metadata.connection
      assert.deepEqual([name, `Sign in to desk: ${url}`, link_id], ['desk', message, LINK.exec(message)?.[1]])
    })
  },
  { ...CONNECTED, ...LOCAL_RECEIVERS },
)
