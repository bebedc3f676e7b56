import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { create } from './fill.ts'
import { type Load, type LoadResult, measure, sortedAt } from './load.ts'
import type { Store, Subject } from './subject.ts'

const EVENTS = 1_000
const CONNECTIONS = 32
const LIMIT_MS = 60_000
const LOOK_MS = 1
const AGENT = 'announced'

/**
 * An agent with one webhook: how many events reach their receiver in a second, counted from the first invocation to the
 * last delivery. The times are those of an event on its way; under this load it mostly waits for others.
 */
export function webhookSubjects(key: string): Subject[] {
  const headers = { Authorization: `Bearer ${key}` }
  const load: Load = {
    method: 'POST',
    path: `/v1/agents/${AGENT}/invoke`,
    headers,
    body: JSON.stringify({ message: 'Ahoy' }),
  }
  const waits: number[] = []
  const receiver = openReceiver(waits)
  const store: Store = {
    name: 'with a webhook',
    async fill({ url }) {
      const { id } = await create(url, key, 'agents', { name: AGENT })
      await create(url, key, 'webhooks', { agent_id: id, url: await receiver, events: ['agent.completed'] })
    },
  }
  return (['embedded', 'PostgreSQL'] as const).map((engine) => ({
    group: 'webhooks',
    name: 'deliver to a webhook',
    engine,
    load,
    store,
    async measure({ url }): Promise<LoadResult> {
      waits.length = 0
      const began = performance.now()
      const { failed } = await measure(url, load, CONNECTIONS, LIMIT_MS, EVENTS)
      while (waits.length < EVENTS) {
        if (performance.now() - began > LIMIT_MS) throw new Error(`${waits.length} of ${EVENTS} events were delivered`)
        await setTimeout(LOOK_MS)
      }
      const seconds = (performance.now() - began) / 1000
      waits.sort((a, b) => a - b)
      return { requests: EVENTS, seconds, p50_ms: sortedAt(waits, 0.5), p99_ms: sortedAt(waits, 0.99), failed }
    },
  }))
}

/** Its address. It notes how long each event was on its way, and does not keep the process alive. */
function openReceiver(waits: number[]): Promise<string> {
  const server = createServer(async (request, response) => {
    const { timestamp } = (await json(request)) as { timestamp: string }
    waits.push(Date.now() - Date.parse(timestamp))
    response.end()
  })
  server.unref()
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`))
  })
}
