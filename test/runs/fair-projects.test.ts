import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { inProject, onAnyEngine, type Service } from '../support/service/service.ts'
import { createWebhook, openInbox } from '../support/slices/webhooks.ts'

const AGENTS = 20
const RUNS = 25
/** How many places of a node one agent may hold, and how many there are. */
const [OF_AGENT, PLACES] = [32, 64]

async function newProject(service: Service, name: string): Promise<Service> {
  const { status, text } = await service.call('POST', '/v1/projects', { body: { name } })
  assert.equal(status, 201, text)
  return inProject(service, name)
}

async function queue(project: Service, agent: string): Promise<string> {
  const { status, body, text } = await project.call('POST', `/v1/agents/${agent}/invoke`, {
    body: { message: 'go' },
    headers: { Prefer: 'respond-async' },
  })
  assert.equal(status, 202, text)
  return body.data.request_id
}

const statusOf = async (project: Service, agent: string, request_id: string): Promise<string> =>
  (await project.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data.status

onAnyEngine(
  'a noisy project',
  (service) => {
    test(`whose ${AGENTS * RUNS} runs of ${AGENTS} agents occupy every slot does not delay another project's run`, async (t) => {
      const held = await holdRuns(t)
      const [noisy, quiet] = [await newProject(service(), 'noisy'), await newProject(service(), 'quiet')]
      const agents: string[] = []
      for (let i = 0; i < AGENTS; i++) agents.push(await newAgent(noisy, held.agent))
      for (let i = 0; i < RUNS; i++) await Promise.all(agents.map((agent) => queue(noisy, agent)))
      await until('every place is held', () => held.count() === PLACES)
      const agent = await newAgent(quiet)
      const request_id = await queue(quiet, agent)
      await until('the other has run', async () => (await statusOf(quiet, agent, request_id)) === 'completed')
      for (const status of ['completed', 'failed']) {
        const { body } = await noisy.call('GET', `/v1/invocations?status=${status}`)
        assert.equal(body.pagination.total, 0, 'none of the noisy ones has ended')
      }
      for (const one of agents) await noisy.call('DELETE', `/v1/agents/${one}`)
    })

    test('whose agent has more runs than there are slots does not delay its other agents', async (t) => {
      const held = await holdRuns(t)
      const project = await newProject(service(), 'crowded')
      const [slow, other] = [await newAgent(project, held.agent), await newAgent(project)]
      await Promise.all(Array.from({ length: PLACES + 1 }, () => queue(project, slow)))
      await until('its places are held', () => held.count() >= OF_AGENT)
      const request_id = await queue(project, other)
      await until('the other has run', async () => (await statusOf(project, other, request_id)) === 'completed')
      assert.equal(held.count(), OF_AGENT)
      await project.call('DELETE', `/v1/agents/${slow}`)
    })

    test("whose slow receivers occupy every slot does not delay another project's delivery", async (t) => {
      const [noisy, quiet] = [await newProject(service(), 'loud'), await newProject(service(), 'calm')]
      const { maxInFlight, maxPerEndpoint } = partsOf(service()).config.webhooks
      const gate = Promise.withResolvers<void>()
      t.after(() => gate.resolve())
      let ended = 0
      const slow = await openInbox(t, (_arrival, _request, response) => {
        response.once('close', () => ended++)
        return gate.promise
      })
      const inbox = await openInbox(t)
      const agent = await newAgent(noisy)
      for (let i = 0; i <= maxInFlight / maxPerEndpoint + 1; i++) await createWebhook(noisy, { url: slow.url })
      for (let i = 0; i < maxPerEndpoint; i++) {
        await noisy.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
      }
      await until('every place is held', () => slow.arrivals.length === maxInFlight)
      const other = await newAgent(quiet)
      await createWebhook(quiet, { url: inbox.url })
      await quiet.call('POST', `/v1/agents/${other}/invoke`, { body: { message: 'go' } })
      await inbox.first(1)
      assert.equal(ended, 0, 'none of the noisy ones has ended')
    })
  },
  LOCAL_TOOLS,
)
