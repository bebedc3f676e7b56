import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '../../src/operations.ts'
import { sendHalf } from '../support/clients/half-sent.ts'
import { connectMcp, REVISIONS } from '../support/clients/mcp-client.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { ConsoleTab } from '../support/console/console-tab.ts'
import { until } from '../support/running/until.ts'
import { inProject, onAnyEngine, type Service } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

// What a client could learn about other projects indirectly.
onAnyEngine('a client limited to one project', (service) => {
  let made = 0
  const newProject = async (): Promise<Service> => {
    const name = `leaks-${++made}`
    assert.equal((await service().call('POST', '/v1/projects', { body: { name } })).status, 201)
    return inProject(service(), name)
  }

  for (const revision of REVISIONS) {
    test(`is notified over MCP ${revision} when its own agents change, but not about other projects`, async (t) => {
      const [own, other] = [await newProject(), await newProject()]
      const listen = async (project: Service, name: string, limit: object = {}) => {
        const heard = { changes: 0 }
        const onChanged = () => void heard.changes++
        const listChanged = { tools: { onChanged, autoRefresh: false, debounceMs: 0 } }
        const agent = await createAgent(project, name)
        const { secret: key } = await createKey(project, { role: 'caller', ...limit })
        const listening = Promise.withResolvers<void>()
        await connectMcp(t, service(), revision, { key, options: { listChanged }, onListening: listening.resolve })
        await listening.promise
        /** Waits for each change's notification before the next change, so none is pending when another project changes. */
        const hear = async (times = 1) => {
          for (let i = 0; i < times; i++) {
            const before = heard.changes
            const body = { metadata: { at: Math.random() } }
            assert.equal((await project.call('PATCH', `/v1/agents/${agent}`, { body })).status, 200)
            await until('it hears of the change', () => heard.changes > before)
          }
        }
        return { heard, agent, hear }
      }
      const [mine, theirs] = [await listen(own, 'told'), await listen(other, 'told')]
      const narrow = await listen(other, 'narrow', { agent_id: 'narrow' })
      for (const listener of [mine, theirs]) await listener.hear()
      const alone = theirs.heard.changes
      await narrow.hear()
      await until('the whole project hears of it too', () => theirs.heard.changes > alone)
      const [before, heardOfOwn] = [mine.heard.changes, narrow.heard.changes]
      await theirs.hear(3)
      const soFar = theirs.heard.changes
      await other.call('DELETE', `/v1/agents/${theirs.agent}`)
      await until('the deletion is heard', () => theirs.heard.changes > soFar)
      assert.equal(mine.heard.changes, before)
      assert.equal(narrow.heard.changes, heardOfOwn, 'a key of one agent is told of that one')
      await mine.hear()
    })
  }

  test("can't tell from log ids and positions how much other projects log", async () => {
    const [own, other] = [await newProject(), await newProject()]
    const [mine, theirs] = [await createAgent(own, 'mine'), await createAgent(other, 'theirs')]
    const invoke = (project: Service, agent: string) =>
      project.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
    const { pagination } = (await own.call('GET', `/v1/agents/${mine}/logs?after=latest`)).body
    await invoke(own, mine)
    for (let i = 0; i < 5; i++) await invoke(other, theirs)
    await invoke(own, mine)
    const listed = (await own.call('GET', `/v1/agents/${mine}/logs`)).body.data as { id: string }[]
    const path = `/v1/agents/${mine}/logs?after=${pagination.next_after}`
    const followed = (await own.call('GET', path)).body
    const idsOf = (entries: { id: string }[]) => entries.map(({ id }) => id).toSorted()
    assert.ok(listed.length >= 2)
    assert.deepEqual(idsOf(followed.data), idsOf(listed), 'an entry has one id')
    assert.equal(new Set(idsOf(listed)).size, listed.length)
    for (const id of idsOf(listed)) assert.match(id, /^[\w-]{16}$/)
    assert.match(followed.pagination.next_after, /^v1\.[\w-]+$/)
    const wrong = await own.call('GET', `/v1/agents/${mine}/logs?after=12-13`)
    assert.deepEqual(fieldsOf(wrong.body), ['after'])
  })

  test("can't read lists from a web page that only an agent of another project allows", async () => {
    const [own, other] = [await newProject(), await newProject()]
    const cors = (origin: string) => ({ security: { cors: { origins: [origin] } } })
    await createAgent(own, 'own-page', cors('https://own.example'))
    await createAgent(other, 'other-page', cors('https://other.example'))
    const { secret: key } = await createKey(own, { role: 'caller' })
    const allowed = async (origin: string) => {
      const { status, headers } = await service().call('GET', '/v1/models', { key, headers: { Origin: origin } })
      return [status, headers.get('access-control-allow-origin')]
    }
    assert.deepEqual(await allowed('https://own.example'), [200, 'https://own.example'])
    assert.deepEqual(await allowed('https://other.example'), [200, null])
  })

  test('sees only the features in the console that it has access to', async () => {
    const own = await newProject()
    const featuresOf = async (project: Service, body: object) => {
      const tab = new ConsoleTab(service)
      await tab.signIn((await createKey(project, { role: 'admin', ...body })).secret)
      return (await tab.ask('GET', '/console/session')).body.data.features as string[]
    }
    const ofService = operations.filter(({ access }) => access.reach === 'service').map(({ id }) => id)
    const ofOperator = operations.filter(({ access }) => access.reach === 'operator').map(({ id }) => id)
    assert.ok(ofService.includes('createProject') && ofOperator.includes('getSystem'))
    const offered = (features: string[]) => [...ofService, ...ofOperator].filter((id) => features.includes(id))
    const agent_id = await createAgent(own, 'narrow')
    assert.deepEqual(offered(await featuresOf(service(), { all_projects: true })), [...ofService, ...ofOperator])
    assert.deepEqual(offered(await featuresOf(service(), { all_projects: false })), ofOperator)
    assert.deepEqual(offered(await featuresOf(own, {})), [])
    assert.deepEqual(offered(await featuresOf(own, { agent_id })), [])
    const { secret: key } = await createKey(own, { role: 'admin' })
    for (const { id, method, path } of operations.filter(({ access }) => access.reach !== undefined)) {
      const sent = method === 'GET' ? {} : { body: {} }
      const { status, text } = await service().call(method, path.replace('{agent_id}', agent_id), { key, ...sent })
      assert.equal(status, 403, `${id}: ${text}`)
    }
  })

  test('gets 401 if its key is revoked while the request body is being sent', async () => {
    const own = await newProject()
    const agent = await createAgent(own, 'slowly-changed')
    const { id, secret: key } = await createKey(own, { role: 'admin' })
    const sent = { method: 'PATCH', key, body: { description: 'too late' } }
    const half = sendHalf(`${service().url}/v1/agents/${agent}`, sent)
    // The request sent before this call has passed the checks by now.
    assert.equal((await service().call('GET', '/v1/keys/self', { key })).status, 200)
    assert.equal((await own.call('DELETE', `/v1/keys/${id}`)).status, 200)
    assert.equal(await half.finish(), 401)
    assert.equal((await own.call('GET', `/v1/agents/${agent}`)).body.data.description, null)
  })
})
