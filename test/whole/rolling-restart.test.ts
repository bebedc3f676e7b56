import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { newKey } from '../../src/security/key-format.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { startBalancer } from '../support/service/balancer.ts'
import { startChildService } from '../support/service/child-service.ts'
import { freshPostgres } from '../support/stores/fresh-store.ts'

const CLIENTS = 50

test('a node behind a load balancer is restarted while 50 clients keep it busy: no request fails, no connection is reset', async (t) => {
  const database = await freshPostgres()
  const settings = {
    DATABASE_URL: database.url,
    MOORAGE_MASTER_KEY: randomBytes(32).toString('base64'),
    MOORAGE_INIT_KEY: newKey(randomBytes),
    // The load balancer looks several times meanwhile, also where the machine is busy.
    MOORAGE_SERVER__DRAIN_DELAY: `${2_000 * PATIENCE}ms`,
    MOORAGE_LIMITS__TIERS: '{"enterprise":{"requestsPerMinute":10000000,"burst":10000000}}',
  }
  t.after(() => database.drop())
  const first = await startChildService(t, 'postgres', settings)
  const second = await startChildService(t, 'postgres', settings)
  const balancer = await startBalancer(t, [first.url, second.url])
  assert.equal(balancer.ready(), 2)

  const ends = new Map<string, number>()
  let answered = 0
  let over = false
  const clients = Array.from({ length: CLIENTS }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!over) {
      const end = await invoke(balancer.url, agent, settings.MOORAGE_INIT_KEY)
      ends.set(end, (ends.get(end) ?? 0) + 1)
      answered++
      await delay(20)
    }
    agent.destroy()
  })
  const more = async (what: string) => {
    const enough = answered + 10 * CLIENTS
    await until(what, () => answered > enough)
  }
  await more('both answer')
  assert.equal(await first.terminate(), 0, first.output())
  await until('the balancer has heard of it', () => balancer.ready() === 1)
  await more('the other one answers')
  await first.start()
  await until('both are ready', () => balancer.ready() === 2)
  await more('both answer again')
  over = true
  await Promise.all(clients)
  assert.deepEqual([...ends.keys()], ['200'], JSON.stringify([...ends]))
})

/** The status of the reply, or what became of the connection. */
function invoke(url: string, agent: Agent, key: string): Promise<string> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const sent = request(`${url}/v1/agents/hello/invoke`, { agent, method: 'POST', headers }, (response) => {
      response.on('error', (error) => resolve(error.message))
      response.on('end', () => resolve(String(response.statusCode)))
      response.resume()
    })
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    sent.end('{"message":"go"}')
  })
}
