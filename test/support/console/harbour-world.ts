import { startLocalServer } from '../outside/local-server.ts'
import { startModelServer } from '../outside/model-server.ts'
import type { Settings } from '../service/service.ts'

/** A clock that changes only when it is told that time passes. */
export type SetClock = { now(): number; pass(ms: number): void }

/** What the service calls. Each call advances the service's clock by the same time in every run. */
export type HarbourWorld = {
  clock: SetClock
  settings: Settings
  model: Awaited<ReturnType<typeof startModelServer>>
  /** A shop with orders, refunds and a stock that doesn't respond. */
  shop: string
  /** Accepts events at `/well` and refuses them at `/broken`. */
  inbox: string
  close(): Promise<void>
}

const MODEL_MS = 1_234
const SHOP_MS = 321
const INBOX_MS = 87
/** The events that the seed sends and waits for. */
const AWAITED_EVENTS = 3

/** A Monday in March, in winter time. */
const MORNING = Date.parse('2026-03-02T07:00:00Z')

export async function startHarbourWorld(): Promise<HarbourWorld> {
  let now = MORNING
  const clock = {
    now: () => now,
    pass(ms: number) {
      now += ms
    },
  }
  const model = await startModelServer()
  model.models.splice(0, model.models.length, 'harbour-7b', 'lighthouse-mini', 'tide-embed')
  model.replyBy(({ messages }) => {
    clock.pass(MODEL_MS)
    const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
    const usage = { prompt_tokens: 1_200 + asked.length, completion_tokens: 45 }
    return { text: ['High water is at ', `06:12, for “${asked}”.`], usage }
  })
  const shop = await startLocalServer((request, response) => {
    clock.pass(SHOP_MS)
    response.setHeader('Content-Type', 'application/json')
    if (request.url?.startsWith('/stock')) response.writeHead(503).end('{"error":"the stock is counted"}')
    else response.end(JSON.stringify({ paid: true, method: request.method, path: request.url }))
  })
  let received = 0
  const inbox = await startLocalServer((request, response) => {
    request.resume()
    request.on('end', () => {
      // Later events arrive at any moment.
      if (++received <= AWAITED_EVENTS) clock.pass(INBOX_MS)
      if (request.url === '/broken') response.writeHead(500).end('out of order')
      else response.end('thank you')
    })
  })
  return {
    clock,
    model,
    shop: shop.url,
    inbox: inbox.url,
    settings: {
      MOORAGE_PRICES: JSON.stringify([
        { model: 'builtin/script', input: 3, output: 15 },
        { model: 'local/harbour-7b', input: 2, output: 8 },
      ]),
      MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
      MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.0/8',
    },
    async close() {
      await model.close()
      await shop.close()
      await inbox.close()
    },
  }
}
