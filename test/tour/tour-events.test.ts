import { until } from '../support/running/until.ts'
import { makeCrew } from '../support/tour/crew.ts'
import { tour } from '../support/tour/tour.ts'

const SIGNED = /(?<="(webhook-signature|x-service-signature)": ")[^"]+/g
const TOOK = /(?<="duration_ms": )\d+/g
/** Further attempts are spread over time. */
const NEXT = /(?<="next_attempt_at": ")[^"]+/g

tour('a tour of events and budgets', (told, chapter, world) => {
  const hook = () => `${world().place.url}/hook`
  const got = () => world().arrived.filter(({ path }) => path.startsWith('/hook') || path.startsWith('/broken'))
  /** Waits until this number of requests has come, and what came of each is stored. */
  const arrived = async (count: number, ...webhooks: string[]) => {
    await until(`${count} deliveries`, () => got().length >= count)
    for (const id of webhooks)
      await until('the attempts are stored', async () => {
        const { body } = await told.service.call('GET', `/v1/webhooks/${id}/deliveries?status=pending`)
        return body.data.every(({ attempt_count }: { attempt_count: number }) => attempt_count > 0)
      })
  }
  const invoke = (agent: string, message: string, context = {}) =>
    told.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })

  chapter('events/webhooks.txt', async () => {
    await makeCrew(told, world())
    const create = async (body: object) => (await told.tell('POST', '/v1/webhooks', { body })).body.data.id as string
    const all = await create({ url: hook(), events: ['*'], description: 'Everything' })
    const some = await create({
      url: `${world().place.url}/broken`,
      agent_id: 'captain',
      events: ['agent.failed', 'agent.cancelled'],
    })
    await told.tell('GET', `/v1/webhooks/${some}`)
    await invoke('hello', 'ahoy', { user_id: 'ann', session_id: 'monday' })
    await arrived(1, all)
    const waiting = await invoke('asking', 'May we?')
    await arrived(2, all)
    await told.call('POST', `/v1/agents/asking/invocations/${waiting.body.data.request_id}/cancel`)
    await arrived(3, all)
    const deploy = (version: string) =>
      told.call('POST', '/v1/agents/hello/deployments', {
        body: { environment: 'production', version, message: 'new' },
      })
    await deploy('v1')
    await arrived(4, all)
    const second = await deploy('v2')
    await arrived(5, all)
    await told.call('POST', `/v1/agents/hello/deployments/${second.body.data.id}/rollback`, { body: {} })
    await arrived(6, all)
    await told.call('POST', '/v1/pause', { body: { reason: 'Storm' } })
    await arrived(7, all)
    await told.call('POST', '/v1/resume', { body: {} })
    await arrived(8, all)
    await told.tell('POST', `/v1/webhooks/${all}/test`)
    await arrived(9, all)
    await invoke('captain', 'stop now')
    await arrived(11, all, some)
    const [hooked, broken] = ['/hook', '/broken'].map((start) => got().filter(({ path }) => path === start))
    for (const { method, path, headers, body } of [...(hooked ?? []), ...(broken ?? []).slice(0, 1)]) {
      const { host: _, 'content-length': __, ...rest } = headers
      told.show(`${method} ${path}`, { headers: rest, body: JSON.parse(body) })
    }
    await told.everySort(`/v1/webhooks/${all}/deliveries`, '/v1/webhooks/{webhook_id}/deliveries', ['event', 'status'])
    await told.tell('GET', `/v1/webhooks/${all}/deliveries?event=agent.completed`)
    const failed = await told.tell('GET', `/v1/webhooks/${some}/deliveries`)
    const [{ id }] = failed.body.data
    await told.tell('GET', `/v1/webhooks/${some}/deliveries/${id}`)
    await told.tell('GET', `/v1/deliveries/${id}`)
    await told.tell('POST', `/v1/webhooks/${some}/deliveries/${id}/redeliver`)
  }, [
    [SIGNED, 'signature'],
    [TOOK, 'n'],
    [NEXT, 'time'],
  ])

  chapter('events/webhook-changes.txt', async () => {
    const { body } = await told.call('GET', '/v1/webhooks?sort=created_at')
    const [all, some]: string[] = body.data.map(({ id }: { id: string }) => id)
    await told.tell('PATCH', `/v1/webhooks/${some}`, {
      body: { url: `${hook()}/other`, events: ['agent.completed', 'ping'], description: 'Some', status: 'disabled' },
    })
    await told.tell('POST', `/v1/webhooks/${all}/rotate-secret`, { body: { grace_period_seconds: 120 } })
    await told.everySort('/v1/webhooks', '/v1/webhooks', ['description'])
    for (const filter of ['agent_id=captain', 'event=ping', 'event=agent.failed', 'status=disabled', 'limit=1'])
      await told.tell('GET', `/v1/webhooks?${filter}`, { only: ['description', 'status'] })
    await told.tell('DELETE', `/v1/webhooks/${some}`)
    await told.tell('GET', `/v1/webhooks/${some}`)
    await told.call('DELETE', `/v1/webhooks/${all}`)
    const listener = await told.tell('POST', '/v1/listeners', {
      body: { agent_id: 'hello', events: ['agent.completed'] },
    })
    await invoke('hello', 'can you hear me?')
    await told.tell('GET', `/v1/listeners/${listener.body.data.id}?wait_ms=5000`)
    told.time += 10 * 60_000
    await told.tell('GET', `/v1/listeners/${listener.body.data.id}`)
  })

  chapter('events/callbacks.txt', async () => {
    world().arrived.length = 0
    const callback = { url: hook(), name: 'mine', token: 'my-token', authorization: 'Basic abc' }
    const headers = { Prefer: 'respond-async' }
    const begun = await told.tell('POST', '/v1/agents/asking/invoke', {
      body: { message: 'May we?', callback },
      headers,
    })
    const path = `/v1/agents/asking/invocations/${begun.body.data.request_id}`
    await arrived(1)
    await told.tell('GET', `${path}/callbacks`)
    const made = await told.tell('POST', `${path}/callbacks`, { body: { url: `${hook()}/a2a`, format: 'a2a' } })
    await told.tell('GET', `${path}/callbacks/${made.body.data.id}`)
    await told.tell('POST', `${path}/approvals/call_1`, { body: { decision: 'approve', answer: 'Yes' } })
    await arrived(3)
    for (const arrival of got().toSorted((a, b) => a.path.localeCompare(b.path) || a.body.length - b.body.length)) {
      const { host: _, 'content-length': __, ...rest } = arrival.headers
      told.show(`${arrival.method} ${arrival.path}`, { headers: rest, body: JSON.parse(arrival.body) })
    }
    await told.tell('DELETE', `${path}/callbacks/${made.body.data.id}`)
    await told.tell('GET', `${path}/callbacks/${made.body.data.id}`)
  }, [
    [SIGNED, 'signature'],
    [TOOK, 'n'],
  ])

  chapter('events/budgets.txt', async () => {
    const create = async (body: object) => (await told.tell('POST', '/v1/budgets', { body })).body.data.id as string
    const daily = await create({
      name: 'daily',
      scope: { type: 'agent', id: 'pilot' },
      limit: { cost_usd: 0.06 },
      per: 'day',
      timezone: 'Europe/Berlin',
      thresholds: [40, 90],
    })
    const each = await create({
      name: 'each',
      scope: { type: 'user' },
      limit: { tokens: 30 },
      per: 'ever',
      action: 'notify',
    })
    await create({ name: 'runs', scope: { type: 'project' }, limit: { runs: 1000 }, per: 'month' })
    await told.tell('POST', '/v1/agents/pilot/invoke', { body: { message: 'One', context: { user_id: 'ann' } } })
    await told.tell('POST', '/v1/agents/pilot/invoke', { body: { message: 'Two', context: { user_id: 'ann' } } })
    await told.tell('POST', '/v1/agents/pilot/invoke', { body: { message: 'Three', context: { user_id: 'bob' } } })
    await told.tell('POST', '/v1/agents/pilot/invoke', { body: { message: 'Four' } })
    await told.tell('GET', `/v1/budgets/${daily}`)
    await told.tell('GET', `/v1/budgets/${each}`)
    await told.tell('GET', `/v1/budgets/${each}?subject=ann`)
    await told.tell('PATCH', `/v1/budgets/${daily}`, {
      body: { name: 'more', limit: { cost_usd: 2 }, thresholds: [10], action: 'notify' },
    })
    await told.everySort('/v1/budgets', '/v1/budgets', ['name'])
    await told.tell('GET', '/v1/budgets?scope=user')
    await told.tell('DELETE', `/v1/budgets/${each}`)
    await told.tell('GET', `/v1/budgets/${each}`)
  })
})
