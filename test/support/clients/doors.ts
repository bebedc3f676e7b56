import type { Service } from '../service/service.ts'

/** What a client learns: only the answer's text, or why there is none. */
export type DoorReply = { response: string } | { code: string; status: number }

export type DoorCall = { agent: string; message: string; key: string; headers?: Record<string, string> }

type Reply = Awaited<ReturnType<Service['call']>>

/** The ways to invoke an agent over HTTP, each in its own dialect. */
export const DOORS: Record<string, (service: Service, call: DoorCall) => Promise<DoorReply>> = {
  async api(service, { agent, message, key, headers = {} }) {
    const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { key, headers, body: { message } })
    if (reply.status === 200) return { response: reply.body.data.response }
    return { code: reply.body.error.code, status: reply.status }
  },
  openai: (service, { agent, message, ...call }) =>
    askOpenai(service, '/v1/chat/completions', call, {
      body: { model: agent, messages: [{ role: 'user', content: message }] },
      answer: ({ choices }) => choices[0].message.content,
    }),
  'openai responses': (service, { agent, message, ...call }) =>
    askOpenai(service, '/v1/responses', call, {
      body: { model: agent, input: message },
      answer: ({ output }) => output[0].content[0].text,
    }),
  mcp: (service, call) => askMcp(service, '/v1/mcp', call),
  'mcp of an agent': (service, call) => askMcp(service, `/v1/agents/${call.agent}/mcp`, call),
  async a2a(service, { agent, message, key, headers = {} }) {
    const said = { messageId: '1', role: 'ROLE_USER', parts: [{ text: message }] }
    const reply = await service.call('POST', `/v1/agents/${agent}/a2a`, {
      key,
      headers: { 'A2A-Version': '1.0', ...headers },
      body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: said } },
    })
    const { result, error } = rpcReply(reply)
    if (!error && !result.task.artifacts) return { code: result.task.status.state, status: reply.status }
    if (!error) return { response: result.task.artifacts[0].parts[0].text }
    const { code, status } = Array.isArray(error.data) ? error.data[0].metadata : error.data
    return { code, status: Number(status) }
  },
  async 'ag-ui'(service, { agent, message, key, headers = {} }) {
    const body = { threadId: crypto.randomUUID(), runId: '1', messages: [{ id: '1', role: 'user', content: message }] }
    const reply = await service.call('POST', `/v1/agents/${agent}/ag-ui`, { key, headers, body })
    if (reply.status !== 200) return { code: reply.body.error.code, status: reply.status }
    const events = [...reply.text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
    const { type, code } = events.at(-1)
    if (type === 'RUN_ERROR') return { code, status: reply.status }
    return { response: events.map(({ type: part, delta }) => (part === 'TEXT_MESSAGE_CONTENT' ? delta : '')).join('') }
  },
}

/** The codes that OpenAI's clients get instead of ours. */
const CODE_OF: Record<string, string> = {
  invalid_api_key: 'unauthorized',
  rate_limit_exceeded: 'rate_limited',
  model_not_found: 'not_found',
}

async function askOpenai(
  service: Service,
  path: string,
  { key, headers = {} }: Pick<DoorCall, 'key' | 'headers'>,
  { body, answer }: { body: object; answer(reply: Reply['body']): string },
): Promise<DoorReply> {
  const reply = await service.call('POST', path, { key, headers, body })
  if (reply.status === 200) return { response: answer(reply.body) }
  const { code } = reply.body.error
  return { code: CODE_OF[code] ?? code, status: reply.status }
}

/** A call in revision 2025-11-25, for which no handshake is needed here. */
async function askMcp(
  service: Service,
  path: string,
  { agent, message, key, headers = {} }: DoorCall,
): Promise<DoorReply> {
  const params = { name: agent, arguments: { message } }
  const reply = await service.call('POST', path, {
    key,
    headers: { Accept: 'application/json, text/event-stream', ...headers },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
  })
  const { result, error } = rpcReply(reply)
  const { _meta: meta } = result ?? {}
  const refusal = error?.data ?? meta?.error
  return refusal ? { code: refusal.code, status: refusal.status } : { response: result.content[0].text }
}

/** A JSON-RPC reply, whether it came alone or as an event. */
function rpcReply({ headers, text }: Reply) {
  const isStream = headers.get('content-type')?.startsWith('text/event-stream')
  return JSON.parse(isStream ? (/^data: (\{.*)$/m.exec(text)?.[1] ?? '') : text)
}
