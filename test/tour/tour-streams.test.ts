import { until } from '../support/running/until.ts'
import { makeCrew, runOf } from '../support/tour/crew.ts'
import { tour } from '../support/tour/tour.ts'

const STREAM = { Accept: 'text/event-stream' }
const MCP = { Accept: 'application/json, text/event-stream' }
const A2A = { 'A2A-Version': '1.0' }
const SHIPS = {
  type: 'object',
  properties: { ships: { type: 'integer' }, flag: { type: 'string' } },
  required: ['ships', 'flag'],
  additionalProperties: false,
}

/** The doors name their answers after the run, and some tell their own time. */
const NAMES = [
  [/(?<="(created|created_at|completed_at)": ?)\d{10}(\.\d+)?/g, 'time'],
  [/(?<=(chatcmpl-|resp_|msg_|fc_|item_|tool_|res_))[0-9A-Z]{20,}(_\d+)?/g, 'of the run'],
  [/(?<=int_)[\w-]{20,}/g, 'of the run'],
  [/(?<="expiresAt": ?")[^"]+/g, 'time'],
  [/(?<="timestamp": ?")[^"]+/g, 'time'],
  [/(?<="(createdAt|lastUpdatedAt)": ?")[^"]+/g, 'time'],
] as const

tour('a tour of streams and doors', (told, chapter, world) => {
  chapter('streams/invoke.txt', async () => {
    await makeCrew(told, world())
    const invoke = (agent: string, message: string, more: object = {}) =>
      told.tell('POST', `/v1/agents/${agent}/invoke`, { body: { message, ...more }, headers: STREAM })
    await invoke('hello', 'ahoy', { context: { user_id: 'ann' } })
    const weather = await invoke('pilot', 'How is the weather?')
    await invoke('pilot', 'count the ships', { output: { schema: SHIPS } })
    await invoke('pilot', 'cut it short')
    await invoke('pilot', 'refuse this')
    await invoke('captain', 'how is the weather at sea?')
    await invoke('captain', 'stop now')
    await invoke('nobody', 'ahoy')
    const asked = await invoke('asking', 'May we?')
    const run = `/v1/agents/asking/invocations/${runOf(asked)}`
    await told.call('POST', `${run}/approvals/call_1`, { body: { decision: 'approve', answer: 'Yes' } })
    // The clock would continue in the middle of the run.
    await until('it has ended', async () => (await told.service.call('GET', run)).body.data.status === 'completed')
    await told.tell('GET', `${run}/stream`)
    const path = `/v1/agents/pilot/invocations/${runOf(weather)}/stream`
    await told.tell('GET', path)
    const ids = [...weather.text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id as string)
    await told.tell('GET', path, { headers: { 'Last-Event-ID': ids.at(2) ?? '' } })
    await told.tell('GET', path, { headers: { 'Last-Event-ID': ids.at(-1) ?? '' } })
    await told.tell('GET', path, { headers: { 'Last-Event-ID': '99' } })
  })

  chapter(
    'streams/chat.txt',
    async () => {
      const chat = (model: string, content: string, more: object = {}) =>
        told.tell('POST', '/v1/chat/completions', { body: { model, messages: [{ role: 'user', content }], ...more } })
      await told.tell('GET', '/v1/models')
      await told.tell('GET', '/v1/models/pilot')
      await chat('hello', 'ahoy')
      await chat('pilot', 'How is the weather?', { user: 'ann', metadata: { session_id: 'monday' } })
      const stream = { stream: true, stream_options: { include_usage: true } }
      await chat('hello', 'ahoy', stream)
      await chat('pilot', 'How is the weather?', stream)
      const schema = { type: 'json_schema', json_schema: { name: 'ships', schema: SHIPS, strict: true } }
      await chat('pilot', 'count the ships', { response_format: schema, temperature: 0.1, max_tokens: 50 })
      const tools = [
        { type: 'function', function: { name: 'berth', description: 'A berth', parameters: { type: 'object' } } },
      ]
      await chat('pilot', 'a berth, please', { tools, tool_choice: 'auto', ...stream })
      await chat('pilot', 'a berth, please', { tools, stop: ['END'], seed: 7, top_p: 0.5 })
      const calls = ['berth', 'price'].map((name, i) => ({
        id: `c${i}`,
        type: 'function',
        function: { name, arguments: '{"ship":"Anna"}' },
      }))
      const messages = [
        { role: 'user', content: 'a berth, please' },
        { role: 'assistant', content: 'One moment.', tool_calls: calls },
        { role: 'tool', tool_call_id: 'c0', content: 'B7' },
        { role: 'tool', tool_call_id: 'c1', content: '12 euros' },
        { role: 'user', content: 'Thank you' },
      ]
      await told.tell('POST', '/v1/chat/completions', { body: { model: 'pilot', messages, tools } })
      const { body } = await told.call('GET', '/v1/invocations?door=openai&limit=1')
      await told.tell('GET', `/v1/agents/pilot/invocations/${body.data[0].request_id}/prompt`)
      const parts = [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 7 } },
      ]
      await told.tell('POST', '/v1/chat/completions', {
        body: { model: 'pilot', messages: [{ role: 'user', content: parts }] },
      })
      await chat('pilot', 'cut it short')
      await chat('pilot', 'refuse this')
      await chat('pilot', 'refuse this', stream)
      await chat('nobody', 'ahoy')
      await chat('hello', 'ahoy', { n: 2, temperature: 'hot' })
      await told.tell('POST', '/v1/chat/completions', { body: { model: 'hello' } })
    },
    NAMES,
  )

  chapter(
    'streams/responses.txt',
    async () => {
      const ask = (model: string, input: unknown, more: object = {}) =>
        told.tell('POST', '/v1/responses', { body: { model, input, ...more } })
      const first = await ask('hello', 'ahoy', { instructions: 'Repeat.', metadata: { k: 'v' } })
      await told.tell('GET', `/v1/responses/${first.body.id}`)
      await ask('pilot', 'And then?', { previous_response_id: first.body.id, stream: true })
      await ask('pilot', 'How is the weather?', { stream: true })
      await ask('pilot', 'count the ships', { text: { format: { type: 'json_schema', name: 'ships', schema: SHIPS } } })
      const tools = [
        { type: 'function', name: 'berth', description: 'A berth', parameters: { type: 'object' }, strict: false },
      ]
      await ask('pilot', 'a berth, please', { tools, stream: true })
      await ask('pilot', 'cut it short', { stream: true })
      await ask('pilot', 'refuse this', { stream: true })
      await ask('pilot', 'refuse this')
      await ask('nobody', 'ahoy')
      await told.tell('DELETE', `/v1/responses/${first.body.id}`)
      await told.tell('GET', `/v1/responses/${first.body.id}`)
    },
    NAMES,
  )

  chapter(
    'streams/mcp.txt',
    async () => {
      const rpc = (method: string, params: object = {}, path = '/v1/mcp') =>
        told.tell('POST', path, { body: { jsonrpc: '2.0', id: 1, method, params }, headers: MCP })
      const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'tour', version: '1' } }
      await rpc('initialize', hello)
      await rpc('ping')
      await rpc('tools/list')
      await rpc('tools/list', {}, '/v1/agents/pilot/mcp')
      await rpc('tools/call', { name: 'hello', arguments: { message: 'ahoy', session_id: 'monday' } })
      await rpc('tools/call', {
        name: 'pilot',
        arguments: { message: 'How is the weather?' },
      })
      await rpc('tools/call', { name: 'captain', arguments: { message: 'stop now' } })
      await rpc('tools/call', { name: 'asking', arguments: { message: 'May we?' } })
      await rpc('tools/call', { name: 'nobody', arguments: { message: 'ahoy' } })
      await rpc('tools/call', { name: 'hello', arguments: { words: 'ahoy' } })
      await rpc('resources/list')
      await rpc('nothing/known')
      await told.tell('POST', '/v1/mcp', { body: '{"jsonrpc":', headers: MCP })
      await told.tell('POST', '/v1/mcp', {
        body: { jsonrpc: '2.0', method: 'notifications/initialized' },
        headers: MCP,
      })
    },
    NAMES,
  )

  chapter(
    'streams/a2a.txt',
    async () => {
      const said = (text: string, more: object = {}) => ({
        message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text }], ...more },
      })
      const rpc = (agent: string, method: string, params: object) =>
        told.tell('POST', `/v1/agents/${agent}/a2a`, { body: { jsonrpc: '2.0', id: 7, method, params }, headers: A2A })
      await told.tell('GET', '/v1/agents/pilot/.well-known/agent-card.json')
      await rpc('hello', 'SendMessage', said('ahoy', { contextId: 'monday' }))
      await rpc('pilot', 'SendStreamingMessage', said('How is the weather?'))
      await rpc('captain', 'SendMessage', said('stop now'))
      const asked = await rpc('asking', 'SendMessage', said('May we?'))
      const { task } = asked.body.result
      await rpc('asking', 'GetTask', { id: task.id, historyLength: 5 })
      await rpc('asking', 'ListTasks', { pageSize: 2 })
      await rpc('asking', 'SendMessage', said('Yes, you may', { taskId: task.id }))
      await rpc('asking', 'GetTask', { id: 'req_nothing' })
      const waits = await rpc('asking', 'SendStreamingMessage', said('And they?'))
      await rpc('asking', 'CancelTask', { id: /"id":"(req_\w+)"/.exec(waits.text)?.[1] ?? '' })
      await rpc('asking', 'NothingKnown', {})
      await rpc('hello', 'SendMessage', { message: { role: 'ROLE_USER' } })
    },
    NAMES,
  )

  chapter(
    'streams/ag-ui.txt',
    async () => {
      const run = (agent: string, content: string, more: object = {}) => {
        const messages = [{ id: '1', role: 'user', content }]
        const body = { threadId: 'monday', runId: 'r1', protocolVersion: '1.0', messages, ...more }
        return told.tell('POST', `/v1/agents/${agent}/ag-ui`, { body })
      }
      await run('hello', 'ahoy', { context: [{ description: 'Weather', value: 'fair' }], state: { berth: 4 } })
      await run('pilot', 'How is the weather?')
      await run('captain', 'stop now')
      const asked = await run('asking', 'May we?')
      const [interruptId] = /int_[\w-]+/.exec(asked.text) ?? []
      await run('asking', 'May we?', { resume: [{ interruptId, status: 'resolved' }] })
      await run('asking', 'May we?', { threadId: 'tuesday', resume: [{ interruptId, status: 'cancelled' }] })
      await run('nobody', 'ahoy')
      await run('hello', '', { tools: [{ name: 'no name' }] })
    },
    NAMES,
  )
})
