import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { localProvider } from '../service/with-model.ts'
import { chatChunk } from './chat-chunk.ts'
import { LOCAL_TOOLS, readBody, startLocalServer } from './local-server.ts'

/** A call that arrived, as the receiving server counts it. */
type WatchedCall = { label: string; key: string | undefined; answered: boolean }

export type WatchedWorld = {
  url: string
  /** The settings of a service that uses them. Its agents have the model `local/tiny`. */
  settings: Record<string, string>
  calls: WatchedCall[]
  /** The next call with this label gets no answer. Resolves when it arrives. */
  hold(label: string): Promise<void>
  /** How many calls with this label arrived, and how many were answered. */
  count(label: string): { came: number; answered: number }
}

type Chat = { messages: { role: string; content: string | null }[] }
type Round = { text?: string; calls?: string[] }

/**
 * A model and its tools in one small server that counts every call. The model plays `rounds`, one for each answer it
 * has given so far. Its calls have the labels `model 1`, `model 2` and so on, and those of tools have their paths.
 */
export async function watchWorld(t: TestContext, rounds: readonly Round[]): Promise<WatchedWorld> {
  const calls: WatchedCall[] = []
  const holds = new Map<string, () => void>()

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await readBody(request)
    const isModel = request.url === '/v1/chat/completions'
    const said = isModel ? (JSON.parse(body) as Chat).messages.filter(({ role }) => role === 'assistant').length : 0
    const label = isModel ? `model ${said + 1}` : (request.url ?? '').replace(/^\/|\?.*$/g, '')
    const call = { label, key: request.headers['idempotency-key'] as string | undefined, answered: false }
    calls.push(call)
    const held = holds.get(label)
    if (held) {
      holds.delete(label)
      held()
      return
    }
    call.answered = true
    if (isModel) sendAnswer(response, rounds[said] ?? {})
    else response.end(`answer of ${label}`)
  }
  const server = await startLocalServer(answer)
  t.after(() => server.close())
  return {
    url: server.url,
    settings: { ...LOCAL_TOOLS, ...localProvider(`${server.url}/v1`) },
    calls,
    hold: (label) => new Promise((resolve) => holds.set(label, resolve)),
    count(label) {
      const found = calls.filter((call) => call.label === label)
      return { came: found.length, answered: found.filter(({ answered }) => answered).length }
    },
  }
}

function sendAnswer(response: ServerResponse, { text, calls = [] }: Round): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (text !== undefined) response.write(chatChunk({ role: 'assistant', content: text }))
  for (const [index, name] of calls.entries()) {
    const call = { index, id: `call_${index + 1}`, type: 'function', function: { name, arguments: '{}' } }
    response.write(chatChunk({ tool_calls: [call] }))
  }
  response.write(chatChunk({}, calls.length > 0 ? 'tool_calls' : 'stop'))
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  response.end(`data: ${JSON.stringify({ id: 'c', choices: [], usage })}\n\ndata: [DONE]\n\n`)
}
