import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { connectMcp } from '../support/clients/mcp-client.ts'
import { leastLongestPass } from '../support/running/longest-pass.ts'
import { newLongAgents } from '../support/service/agents.ts'
import { inProject, onBothEngines, type Service } from '../support/service/service.ts'
import { createAgent, createKey, namesOf } from '../support/slices/resources.ts'

const PATH = '/v1/keys/self/agents'

/** A schema of about 200 KB. */
const LARGE = { type: 'object', description: 'x'.repeat(200_000) }

onBothEngines('the agents that a key may invoke', (service, engine) => {
  describe('with large output schemas', () => {
    const names = Array.from({ length: 12 }, (_, i) => `large-${String(i).padStart(2, '0')}`)
    let project: Service
    let key: string
    before(async () => {
      const { body } = await service().call('POST', '/v1/projects', { body: { name: 'large' } })
      project = inProject(service(), body.data.id)
      for (const name of names) await createAgent(project, name, { output: { schema: LARGE } })
      key = (await createKey(project, { role: 'caller' })).secret
    })

    test('a page ends early and says so, and the next one begins behind it', async () => {
      const listed: string[] = []
      for (let more = true; more; ) {
        const page = await project.call('GET', `${PATH}?sort=name&limit=1000&offset=${listed.length}`, { key })
        assert.ok(page.text.length < 1_100_000, `${page.text.length} bytes`)
        const { limit, total, has_more } = page.body.pagination
        assert.deepEqual(
          { limit, total },
          { limit: has_more ? page.body.data.length : 1000, total: names.length },
          page.text.slice(-200),
        )
        assert.deepEqual(page.body.data[0].output_schema, LARGE)
        listed.push(...namesOf(page))
        more = has_more
      }
      assert.deepEqual(listed, names)
    })

    test('clients of OpenAI and MCP see all of them', async (t) => {
      const { status, text } = await project.call('GET', '/v1/models', { key })
      assert.equal(status, 200, text)
      const { data, has_more } = JSON.parse(text)
      assert.deepEqual([data.map(({ id }: { id: string }) => id), has_more], [names, false])

      const client = await connectMcp(t, project, '2026-07-28', { key })
      const tools: string[] = []
      for (let cursor: string | undefined, begun = false; !begun || cursor !== undefined; begun = true) {
        const page = await client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } })
        tools.push(...page.tools.map(({ name }) => name))
        cursor = page.nextCursor
      }
      assert.deepEqual(tools, names)
    })
  })

  test('definitions are not read for the list, however large they are', async () => {
    await newLongAgents(service(), 40)
    const { secret: key } = await createKey(service(), { role: 'caller' })
    const longest = await leastLongestPass(async (attempt) => {
      const { status, body, text } = await service().call('GET', `${PATH}?sort=-created_at&limit=${100 + attempt}`, {
        key,
      })
      assert.equal(status, 200, text)
      assert.ok(body.data.length >= 40, text)
    })
    assert.ok(longest < 50, `${longest} ms of the event loop on ${engine}`)
  })
})
