import { readBody, startLocalServer } from './local-server.ts'
import { startModelServer } from './model-server.ts'

type Answer = string | { status: number; body: object }

/** A reply of Anthropic's Messages API. */
function anthropicText(words: string): string {
  const events = [
    { type: 'message_start', message: { model: 'claude-test', usage: { input_tokens: 5, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: words } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
    { type: 'message_stop' },
  ]
  return written(events)
}

function written(events: { type: string }[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}

/** An Anthropic answer that calls a tool without arguments. */
export function anthropicCall(id: string, name: string): string {
  const events = [
    { type: 'message_start', message: { model: 'claude-test', usage: { input_tokens: 5, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id, name, input: {} } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 4 } },
    { type: 'message_stop' },
  ]
  return written(events)
}

/** One server for each protocol. They record the requests. */
export async function startVisionProviders() {
  const chat = await startModelServer()
  const answers: Answer[] = []
  // oxlint-disable-next-line typescript/no-explicit-any
  const asked: any[] = []
  const messages = await startLocalServer(async (request, response) => {
    asked.push(JSON.parse(await readBody(request)))
    const answer = answers.shift() ?? anthropicText('seen')
    const isText = typeof answer === 'string'
    response.writeHead(isText ? 200 : answer.status, {
      'content-type': isText ? 'text/event-stream' : 'application/json',
    })
    response.end(isText ? answer : JSON.stringify(answer.body))
  })
  const providers = [
    { name: 'openai', type: 'openai', baseUrl: chat.url, apiKey: 'sk-1' },
    { name: 'local', baseUrl: chat.url },
    { name: 'blind', baseUrl: chat.url, vision: false },
    { name: 'anthropic', type: 'anthropic', baseUrl: `${messages.url}/v1`, apiKey: 'sk-ant' },
  ]
  return {
    chat,
    anthropic: { asked, answers },
    settings: { MOORAGE_PROVIDERS: JSON.stringify(providers) },
    close: async () => {
      await Promise.all([chat.close(), messages.close()])
    },
  }
}
