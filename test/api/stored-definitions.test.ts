import assert from 'node:assert/strict'
import { test } from 'node:test'
import { announce } from '../../src/storage/database.ts'
import { inTransaction } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'

/** As written by a release without `script` and `memory`, with two limits fewer, and with a field that no longer exists. */
const OLD = {
  description: null,
  model: 'builtin/echo',
  temperature: null,
  instructions: 'Be brief.',
  tools: [{ type: 'http', name: 'clock', url: 'https://clock.example.com/now', colour: 'red' }],
  limits: { timeout_ms: 5000, max_steps: 3 },
  metadata: { team: 'harbour' },
  colour: 'blue',
}

async function storeAs(service: Service, agent: string, definition: object) {
  const text = JSON.stringify(definition)
  await inTransaction(service, async (db) => {
    await db.updateTable('agents').set({ definition: text }).where('id', '=', agent).execute()
    await db.updateTable('versions').set({ definition: text }).where('agent_id', '=', agent).execute()
    await announce(db, 'agents')
    await announce(db, 'deployments')
  })
}

onAnyEngine('a definition stored by an older release', (service) => {
  const get = async (agent: string) => (await service().call('GET', `/v1/agents/${agent}`)).body.data
  const ask = (agent: string, environment = 'production') =>
    service().call('POST', `/v1/agents/${agent}/invoke`, {
      body: { message: 'hi', environment, context: { user_id: 'u', session_id: 's' } },
    })
  const deploy = (agent: string, version: string) =>
    service().call('POST', `/v1/agents/${agent}/deployments`, { body: { environment: 'production', version } })

  test('is kept for an agent, gets defaults for new fields, and still answers', async () => {
    const agent = await newAgent(service())
    const fresh = await get(agent)
    await storeAs(service(), agent, OLD)
    const { instructions, tools, script, memory, limits, metadata, colour } = await get(agent)
    assert.deepEqual(
      { instructions, script, memory, limits, metadata, colour },
      {
        instructions: 'Be brief.',
        script: null,
        memory: fresh.memory,
        limits: { ...fresh.limits, timeout_ms: 5000, max_steps: 3 },
        metadata: { team: 'harbour' },
        colour: undefined,
      },
    )
    const { type, name, url, method, headers, timeout_ms } = tools[0]
    assert.deepEqual([type, name, url], ['http', 'clock', 'https://clock.example.com/now'])
    assert.deepEqual([method, headers, timeout_ms], ['GET', {}, 30_000])
    assert.equal((await ask(agent)).status, 200)
    const patched = await service().call('PATCH', `/v1/agents/${agent}`, { body: { description: 'old' } })
    assert.equal(patched.status, 200, patched.text)
  })

  test('is kept for a version, which answers and can be compared and rolled back to', async () => {
    const agent = await newAgent(service())
    await deploy(agent, 'v1')
    await storeAs(service(), agent, OLD)
    assert.equal((await ask(agent)).status, 200)
    await service().call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'Be long.' } })
    const { body } = await deploy(agent, 'v2')
    const path = `/v1/agents/${agent}/deployments/${body.data.id}/rollback`
    const preview = await service().call('POST', path, { body: { dry_run: true } })
    assert.deepEqual(preview.body.data.diff, [{ field: 'instructions', from: 'Be long.', to: 'Be brief.' }])
    assert.equal((await service().call('POST', path)).status, 200)
    assert.equal((await ask(agent)).status, 200)
  })

  test('is not refused by a validation rule that was added later', async () => {
    const agent = await newAgent(service())
    await deploy(agent, 'v1')
    await storeAs(service(), agent, { ...OLD, limits: { ...OLD.limits, max_steps: 1000 } })
    assert.equal((await ask(agent)).status, 200)
    assert.equal((await ask(agent, 'staging')).status, 200)
  })
})
