import type { Reply, Service } from '../service/service.ts'

/** One request for an agent over any channel. */
type DoorRequest = { path: string; headers?: Record<string, string>; body: object }

const said = (text: string) => ({ messageId: '1', role: 'ROLE_USER', parts: [{ text }] })
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const chat = (agent: string, content: string) => ({ model: agent, messages: [{ role: 'user', content }] })
const STREAM = { Accept: 'text/event-stream' }
const A2A = { 'A2A-Version': '1.0' }
const MCP = { Accept: 'application/json, text/event-stream' }

/** The ways to call an agent and get its answer immediately, as a whole and as a stream. */
export const DOOR_REQUESTS: Record<string, (agent: string, message: string) => DoorRequest> = {
  api: (agent, message) => ({ path: `/v1/agents/${agent}/invoke`, body: { message } }),
  'api, streamed': (agent, message) => ({ path: `/v1/agents/${agent}/invoke`, headers: STREAM, body: { message } }),
  chat: (agent, message) => ({ path: '/v1/chat/completions', body: chat(agent, message) }),
  'chat, streamed': (agent, message) => ({
    path: '/v1/chat/completions',
    body: { ...chat(agent, message), stream: true, stream_options: { include_usage: true } },
  }),
  responses: (agent, input) => ({ path: '/v1/responses', body: { model: agent, input } }),
  'responses, streamed': (agent, input) => ({ path: '/v1/responses', body: { model: agent, input, stream: true } }),
  mcp: (agent, message) => ({
    path: '/v1/mcp',
    headers: MCP,
    body: rpc('tools/call', { name: agent, arguments: { message } }),
  }),
  a2a: (agent, message) => ({
    path: `/v1/agents/${agent}/a2a`,
    headers: A2A,
    body: rpc('SendMessage', { message: said(message) }),
  }),
  'a2a, streamed': (agent, message) => ({
    path: `/v1/agents/${agent}/a2a`,
    headers: A2A,
    body: rpc('SendStreamingMessage', { message: said(message) }),
  }),
  'ag-ui': (agent, content) => ({
    path: `/v1/agents/${agent}/ag-ui`,
    body: { threadId: 'a thread', runId: 'a run', messages: [{ id: '1', role: 'user', content }] },
  }),
}

/** What a client receives: the status, and each object, alone or as an event's data. */
export async function askDoor(service: Service, { path, headers = {}, body }: DoorRequest) {
  const reply = await service.call('POST', path, { headers, body })
  return { status: reply.status, told: toldIn(reply) }
}

function toldIn({ headers, text, body }: Reply): unknown[] {
  if (!headers.get('content-type')?.startsWith('text/event-stream')) return [body]
  return text.split('\n\n').flatMap((block) => {
    const event = /^event: (.*)$/m.exec(block)?.[1]
    const data = /^data: (.*)$/m.exec(block)?.[1]
    if (data === undefined) return []
    const shown = data.startsWith('{') ? JSON.parse(data) : data
    return [event === undefined ? shown : { event, data: shown }]
  })
}
