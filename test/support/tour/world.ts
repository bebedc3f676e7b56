import type { IncomingHttpHeaders } from 'node:http'
import { LOCAL_TOOLS, type LocalServer, readBody, startLocalServer } from '../outside/local-server.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../outside/model-server.ts'

export type ArrivedCall = { method: string; path: string; headers: IncomingHttpHeaders; body: string }

export type PlaceAnswer = { status?: number; body: string }

/** What the service of a tour calls. On the tour's clock, a model's answer takes 120 ms and a berth 45 ms. */
export type World = {
  model: ModelServer
  /** Tools and everything else that is called at one URL. The path determines the answer. */
  place: LocalServer
  arrived: ArrivedCall[]
  /** Queues the place's answers to requests for this path. */
  answer(path: string, ...answers: PlaceAnswer[]): void
  settings: Record<string, string>
  close(): Promise<void>
}

const PRICES = [
  { model: 'local/tiny', input: 3, cached_input: 0.3, output: 15, reasoning: 60, request: 0.01 },
  { model: 'local/large', input: 7, output: 21 },
]

export async function openWorld(clock: { time: number }): Promise<World> {
  const model = await startModelServer()
  const arrived: ArrivedCall[] = []
  const answers = new Map<string, PlaceAnswer[]>()
  const place = await startLocalServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request
    arrived.push({ method, path, headers, body: await readBody(request) })
    const lined = answers.get(path)?.shift()
    if (lined) {
      response.writeHead(lined.status ?? 200, {
        'content-type': lined.status ? 'application/json' : 'text/event-stream',
      })
      return void response.end(lined.body)
    }
    // Two of them are called at the same time.
    if (path.startsWith('/berth')) clock.time += 45
    // A webhook is tried again long after the tour, no matter how long that takes.
    if (path.startsWith('/broken'))
      response.writeHead(500, 'webhook-id' in request.headers ? { 'Retry-After': '3600' } : {})
    response.end(ANSWERS[path.split(/[?/]/)[1] ?? ''] ?? 'ok')
  })
  model.replyBy(({ model: asked, messages }) => {
    clock.time += 120
    const last = messages.at(-1)
    return replyTo(typeof last?.content === 'string' ? last.content : '(parts)', last?.role === 'tool', asked)
  })
  const provider = { name: 'local', baseUrl: model.url, apiKey: 'sk-local-key' }
  return {
    model,
    place,
    arrived,
    answer: (path, ...more) => void answers.set(path, [...(answers.get(path) ?? []), ...more]),
    settings: {
      ...LOCAL_TOOLS,
      MOORAGE_PROVIDERS: JSON.stringify([provider]),
      MOORAGE_PRICES: JSON.stringify(PRICES),
      MOORAGE_SECRETS: JSON.stringify({ WEATHER: { value: 'weather-password', hosts: ['127.0.0.1'] } }),
    },
    async close() {
      await Promise.all([model.close(), place.close()])
    },
  }
}

const ANSWERS: Record<string, string> = {
  weather: '{"sky":"fog until noon","wind":3}',
  broken: '{"error":"no berth is free"}',
  berth: '{"berth":"B7"}',
}

function replyTo(said: string, isResult: boolean, model: string): ModelReply {
  if (isResult) return { text: [`I was told: ${said}`], usage: usage(60, 9, 16, 2) }
  if (said.includes('weather')) {
    const calls = [
      { name: 'weather', arguments: { city: 'Oslo' } },
      { name: 'broken', arguments: { ship: 'Anna' } },
    ]
    return { text: ['Let me look.'], calls, usage: usage(41, 8, 0, 3) }
  }
  if (said.includes('berth'))
    return { calls: [{ name: 'berth', arguments: { ship: 'Anna', nights: 5 } }], usage: usage(33, 7) }
  if (said.includes('refuse')) return { status: 400, body: { error: { message: 'This model takes no such prompt' } } }
  if (said.includes('cut')) return { text: ['This is cut'], finish_reason: 'length', usage: usage(12, 4) }
  if (said.includes('count')) return { text: ['{"ships":3,"flag":"NO"}'], usage: usage(51, 6) }
  return { text: [`${model} heard: ${said}`], usage: usage(21, 5) }
}

function usage(prompt_tokens: number, completion_tokens: number, cached_tokens?: number, reasoning_tokens?: number) {
  return {
    prompt_tokens,
    completion_tokens,
    ...(cached_tokens !== undefined && { prompt_tokens_details: { cached_tokens } }),
    ...(reasoning_tokens !== undefined && { completion_tokens_details: { reasoning_tokens } }),
  }
}
