// The world outside of the service: a model, two tools and a receiver of webhooks. What the model does with a message stands
// in the message, and everything that comes in is remembered.
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { textOfAnswer, tokensOf } from '../model/runs.ts'
import type { Calls, Plan } from '../model/world.ts'
import { chatChunk } from '../support/outside/chat-chunk.ts'
import { readBody, startLocalServer } from '../support/outside/local-server.ts'

type ChatMessage = { role: string; content: unknown; tool_calls?: unknown[] }

/** What a model was shown in one call. */
export type Prompt = { message: string; persona: string; round: number; turns: string[]; mentioned: string[] }

export type Outside = {
  url: string
  calls: Record<string, Calls>
  prompts: Prompt[]
  deliveries: { url: string; type: string; about: string; id: string }[]
  /** What came in that never should. */
  wrong: string[]
  /** How the secret of a webhook is known, by the path of its URL. */
  secrets: Map<string, string>
  /** The next call of the model about this message is answered only then. Resolves when it has come. */
  hold(message: string, until: Promise<void>): Promise<void>
  /**
   * The call of a model or tool that comes as this number from now on is not answered: this is done instead. Or it's
   * answered after this was done.
   */
  atCall(number: number, act: () => unknown, how?: { isAnswered: boolean }): void
  close(): Promise<void>
}

/** The text of a message, which says what the model does. */
export const textOf = (message: string, plan: Plan) => `${message} ${plan}`

export async function openOutside(): Promise<Outside> {
  const calls: Record<string, Calls> = {}
  const prompts: Prompt[] = []
  const deliveries: Outside['deliveries'] = []
  const wrong: string[] = []
  const secrets = new Map<string, string>()
  const held = new Map<string, { until: Promise<void>; came: () => void }>()
  const keysOfCalls = new Set<string>()
  let strike = { left: 0, act: (): unknown => undefined, isAnswered: false }
  const isStruck = async () => {
    strike.left -= 1
    if (strike.left !== 0) return false
    const { act, isAnswered } = strike
    await act()
    return !isAnswered
  }
  const callsOf = (message: string) => (calls[message] ??= { model: 0, tool: 0, refund: 0 })

  const server = await startLocalServer(async (request, response) => {
    const body = await readBody(request)
    const path = request.url ?? ''
    if (path === '/v1/chat/completions') {
      const prompt = promptOf(JSON.parse(body).messages)
      prompts.push(prompt)
      callsOf(prompt.message).model += 1
      if (await isStruck()) return
      const hold = held.get(prompt.message)
      if (hold) {
        held.delete(prompt.message)
        hold.came()
        await hold.until
      }
      if (!response.destroyed) answer(response, prompt, JSON.parse(body).messages)
    } else if (path.startsWith('/tool') || path.startsWith('/refund')) {
      const message = String(JSON.parse(body || '{}').about)
      const kind = path.startsWith('/tool') ? 'tool' : 'refund'
      callsOf(message)[kind] += 1
      const key = String(request.headers['idempotency-key'])
      if (kind === 'refund' && keysOfCalls.has(key)) wrong.push(`the refund ${key} of ${message} was made again`)
      keysOfCalls.add(key)
      if (await isStruck()) return
      response.end(kind === 'tool' ? 'looked' : 'refunded')
    } else {
      const { type, data } = JSON.parse(body)
      const about = String(data.version && type.startsWith('deployment') ? data.version : (marker(data) ?? ''))
      const id = String(request.headers['webhook-id'])
      deliveries.push({ url: path, type, about: about === '' ? String(data.request_id) : about, id })
      const secret = secrets.get(path)
      const signed = secret && createHmac('sha256', secret).update(body).digest('hex')
      if (signed && signed !== request.headers['x-service-signature']) wrong.push(`a delivery to ${path} is not signed`)
      response.end()
    }
  })

  return {
    url: server.url,
    calls,
    prompts,
    deliveries,
    wrong,
    secrets,
    atCall(left, act, { isAnswered } = { isAnswered: false }) {
      strike = { left, act, isAnswered }
    },
    hold: (message, until) => new Promise((came) => held.set(message, { until, came })),
    close: server.close,
  }
}

/** What an event is about. A run that has not answered is named by its id, which the simulator knows. */
function marker(data: { response?: unknown }): string | undefined {
  return /\bm\d+/.exec(String(data.response ?? ''))?.[0]
}

const contentOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : JSON.stringify(content ?? '')

function promptOf(messages: ChatMessage[]): Prompt {
  const system = messages
    .filter(({ role }) => role === 'system')
    .map(contentOf)
    .join('\n')
  const persona = /persona (\w+)/.exec(system)?.[1] ?? ''
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const said = contentOf(messages[asked] as ChatMessage)
  const message = [...said.matchAll(/\bm\d+(?= \w)/g)].at(-1)?.[0] ?? ''
  const before = messages.slice(0, asked).filter(({ role }) => role !== 'system')
  return {
    message,
    persona,
    round: messages.slice(asked).filter(({ role }) => role === 'tool').length + 1,
    turns: before.map((turn) => `${turn.role} ${/\bm\d+/.exec(contentOf(turn))?.[0]}`),
    mentioned: [...new Set(JSON.stringify(messages).match(/\b[mn]\d+\b/g))],
  }
}

function answer(response: ServerResponse, { message, persona, round }: Prompt, messages: ChatMessage[]): void {
  const said = contentOf(messages.findLast(({ role }) => role === 'user') as ChatMessage)
  const plan = new RegExp(`${message} (\\w+)`).exec(said)?.[1]
  if (plan === 'refuse') {
    response.writeHead(400, { 'content-type': 'application/json' })
    return void response.end('{"error":{"message":"no","type":"invalid_request_error"}}')
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const calls = plan === 'tool' ? 'look' : plan === 'ask' ? 'refund' : undefined
  if (calls && round === 1) {
    const call = { name: calls, arguments: JSON.stringify({ about: message }) }
    response.write(chatChunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: call }] }))
    response.write(chatChunk({}, 'tool_calls'))
  } else {
    const result = contentOf(messages.findLast(({ role }) => role === 'tool') ?? { role: '', content: '' })
    const outcome = /looked|refunded|unknown/.exec(result)?.[0] ?? (round > 1 ? 'rejected' : '')
    response.write(chatChunk({ role: 'assistant', content: textOfAnswer(persona, message, outcome) }))
    response.write(chatChunk({}, 'stop'))
  }
  const { input, output } = tokensOf(message, round)
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  response.end(`data: ${JSON.stringify({ id: 'c', choices: [], usage })}\n\ndata: [DONE]\n\n`)
}
