import { setTimeout as delay } from 'node:timers/promises'
import { readBody, startLocalServer } from './local-server.ts'

/** An OpenAI-compatible server that records each answer that it gave, and to which message. */
export type CountingModel = {
  url: string
  /** The answered messages, in order. A message may be answered more than once. */
  answered: string[]
  close(): Promise<void>
}

type CompletionRequest = { stream?: boolean; model: string; messages: { role: string; content: string }[] }

/** Every seventh request fails. An answer takes between `ms` and twice that. */
export async function startCountingModel(
  usage: { prompt_tokens: number; completion_tokens: number },
  ms: number,
): Promise<CountingModel> {
  const answered: string[] = []
  let requests = 0
  const server = await startLocalServer(async (request, response) => {
    const { stream, model, messages } = JSON.parse(await readBody(request)) as CompletionRequest
    const message = messages.findLast(({ role }) => role === 'user')?.content ?? ''
    requests++
    if (requests % 7 === 0) {
      response.writeHead(500).end('{"error":{"message":"try again"}}')
      return
    }
    await delay(ms + (requests % 10) * (ms / 10))
    // From here on, it must be paid for, whether the client still listens or not.
    answered.push(message)
    const envelope = { id: `chatcmpl-${requests}`, created: 1_794_700_800, model }
    if (!stream) {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...envelope, object: 'chat.completion', choices, usage }))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const chunk = (choices: unknown[], more = {}) =>
      response.write(`data: ${JSON.stringify({ ...envelope, object: 'chat.completion.chunk', choices, ...more })}\n\n`)
    chunk([{ index: 0, delta: { role: 'assistant', content: 'Yes.' }, finish_reason: null }])
    chunk([{ index: 0, delta: {}, finish_reason: 'stop' }])
    chunk([], { usage })
    response.end('data: [DONE]\n\n')
  })
  return { url: `${server.url}/v1`, answered, close: server.close }
}
