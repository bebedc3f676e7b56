import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { storeOf } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { onEveryEngine } from '../support/service/service.ts'

const ROUNDS = 8

onEveryEngine('what is changed at the same time', (service) => {
  const newProject = async () => {
    const { body } = await service().call('POST', '/v1/projects', { body: { name: `p${randomUUID()}` } })
    return `/v1/projects/${body.data.id}`
  }
  const patch = (path: string, body: object) => service().call('PATCH', path, { body })
  const statuses = (replies: { status: number }[]) => replies.map(({ status }) => status).toSorted()

  test('no change of a project is lost', async () => {
    for (let i = 0; i < ROUNDS; i++) {
      const path = await newProject()
      const replies = await Promise.all([
        patch(path, { limits: { requests_per_minute: 7 } }),
        patch(path, { limits: { concurrent_runs: 3 } }),
        patch(path, { description: 'ours' }),
      ])
      assert.deepEqual(statuses(replies), [200, 200, 200])
      const { description, limits } = (await service().call('GET', path)).body.data
      assert.deepEqual([description, limits.requests_per_minute, limits.concurrent_runs], ['ours', 7, 3])
    }
  })

  test('a change does not overwrite sizes measured in the meantime', async () => {
    const path = await newProject()
    const db = storeOf(service())
    const measure = db
      .updateTable('projects')
      .set({ stored_bytes: 4711 })
      .where('id', '=', path.split('/').at(-1) ?? '')
    await Promise.all([patch(path, { description: 'one' }), measure.execute(), patch(path, { description: 'two' })])
    const { rows } = { rows: await db.selectFrom('projects').select('stored_bytes').execute() }
    assert.ok(rows.some(({ stored_bytes }) => stored_bytes === 4711))
  })

  test('if two projects or agents ask for the same name at once, one gets it and the others get 409', async () => {
    for (let i = 0; i < ROUNDS; i++) {
      const name = `same-${randomUUID()}`
      const renamed = await Promise.all([await newProject(), await newProject()].map((path) => patch(path, { name })))
      assert.deepEqual(statuses(renamed), [200, 409])
      const agents = [await newAgent(service()), await newAgent(service())]
      const ofAgents = [
        ...agents.map((agent) => patch(`/v1/agents/${agent}`, { name })),
        service().call('POST', '/v1/agents', { body: { name } }),
      ]
      const [first = 0, ...others] = statuses(await Promise.all(ofAgents))
      assert.ok(first < 300, String(first))
      assert.deepEqual(others, [409, 409])
    }
  })
})
