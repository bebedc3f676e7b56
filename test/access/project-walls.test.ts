import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { operationsForKeys, pathOf, SAMPLE_SETTINGS, sampleBody, sampleRequest } from '../support/clients/requests.ts'
import { inProject, onAnyEngine, type Service } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const ID = /\b(?:agt|prj|key|whk|dep|req|mem|evt|dlv|lsn|sch|apr|aud|cns|prs|rol|inv|file)_[0-9A-HJKMNP-TV-Z]{26}\b/g
const NAME = /\b(?:sample-\d+|SAMPLE_\d+|wall-one)\b/g

// Two projects with the same content. A key of one must learn nothing about the other. New operations are tested automatically.
onAnyEngine(
  'isolation between projects',
  (service) => {
    /** Every id and name that belongs to the first project. */
    const marks = new Set<string>()
    /** IDs and names that the other project sent itself or is allowed to know: its own ID, and who created its key. */
    const said = new Set<string>()
    let one: Service
    let stranger: string

    before(async () => {
      for (const name of ['wall-one', 'wall-two']) {
        const reply = await service().call('POST', '/v1/projects', { body: { name } })
        assert.equal(reply.status, 201, reply.text)
        if (name === 'wall-two') said.add(reply.body.data.id)
        await createAgent(inProject(service(), name), 'hello')
      }
      const named = inProject(service(), 'wall-one')
      one = {
        ...named,
        async call(...asked) {
          const reply = await named.call(...asked)
          for (const mark of marksIn(reply.text)) marks.add(mark)
          return reply
        },
      }
      const { secret } = await createKey(inProject(service(), 'wall-two'), { role: 'admin', tier: 'enterprise' })
      stranger = secret
      said.add((await service().call('GET', '/v1/keys/self')).body.data.id)
    })

    for (const operation of operationsForKeys) {
      const { id, method, path } = operation
      describe(`${method} ${path} (${id})`, () => {
        test('reveals nothing to a key of another project, changes nothing for it, and succeeds afterwards', async () => {
          const { path: target, body, headers } = await sampleRequest(one, operation)
          for (const mark of marksIn(JSON.stringify([target, body ?? null]))) said.add(mark)
          const reply = await service().call(method, target, { key: stranger, body, headers })
          const told = marksIn(reply.text).filter((mark) => marks.has(mark) && !said.has(mark))
          assert.deepEqual(told, [], reply.text)
          if (/\{(?!name|user_id|provider|model)\w+\}/.test(path)) {
            assert.ok([401, 403, 404].includes(reply.status), `${reply.status} ${reply.text}`)
          }
          const own = await one.call(method, target, { body, headers })
          assert.equal(own.status, operation.answer.status ?? 200, own.text)
        })

        if (path.includes('{agent_id}') || bodyNames(operation, 'agent_id')) {
          test('finds no agent of another project, by id or by name', async () => {
            const name = `only-${id.toLowerCase()}`
            const agent = await createAgent(one, name)
            for (const ref of [agent, name]) {
              const target = pathOf(operation, { agent_id: ref })
              const body = sampleBody(operation)
              const named = bodyNames(operation, 'agent_id') ? { ...body, agent_id: ref } : body
              const reply = await service().call(method, target, { key: stranger, body: named })
              assert.ok([400, 403, 404].includes(reply.status), `${reply.status} ${reply.text}`)
              assert.ok(!reply.text.includes(ref === name ? agent : name), reply.text)
            }
          })
        }
      })
    }

    test("a project's key is refused in another project, whether or not that project exists", async () => {
      const replies = ['wall-one', 'default', 'no-such-project'].map((project) =>
        service().call('GET', '/v1/agents', { key: stranger, headers: { 'Moorage-Project': project } }),
      )
      for (const { status, body } of await Promise.all(replies)) {
        assert.deepEqual([status, body.error.code], [403, 'forbidden'])
      }
    })

    test("OpenAI, MCP and A2A clients can't see other projects either", async () => {
      await createAgent(one, 'door-keeper')
      const call = (method: string, path: string, body?: unknown) =>
        fetch(service().url + path, {
          method,
          headers: { Authorization: `Bearer ${stranger}`, 'Content-Type': 'application/json', Accept: ACCEPTED },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
      const messages = [{ role: 'user', content: 'hello' }]
      const rpc = { jsonrpc: '2.0', id: 1 }
      const tool = { name: 'door-keeper', arguments: { message: 'hello' } }
      const replies = await Promise.all([
        call('GET', '/v1/models'),
        call('GET', '/v1/models/door-keeper'),
        call('POST', '/v1/chat/completions', { model: 'door-keeper', messages }),
        call('POST', '/v1/responses', { model: 'door-keeper', input: 'hello' }),
        call('GET', '/v1/agents/door-keeper/.well-known/agent-card.json'),
        call('POST', '/v1/agents/door-keeper/a2a', { ...rpc, method: 'GetTask', params: { id: 'x' } }),
        call('POST', '/v1/agents/door-keeper/ag-ui', { threadId: 't', runId: 'r', messages }),
        call('POST', '/v1/agents/door-keeper/mcp', { ...rpc, method: 'tools/list', params: {} }),
        call('POST', '/v1/mcp', { ...rpc, method: 'tools/list', params: {} }),
        call('POST', '/v1/mcp', { ...rpc, method: 'tools/call', params: tool }),
      ])
      const texts = await Promise.all(replies.map((reply) => reply.text()))
      for (const [i, reply] of replies.entries()) {
        if (i === 0 || i >= 8) continue
        assert.ok([400, 404].includes(reply.status), `${i}: ${reply.status} ${texts[i]}`)
      }
      for (const i of [0, 8]) assert.doesNotMatch(texts[i] ?? '', /door-keeper/)
      const receipts = await one.call('GET', '/v1/agents/door-keeper/invocations')
      assert.equal(receipts.body.pagination.total, 0)
    })
  },
  SAMPLE_SETTINGS,
)

const ACCEPTED = 'application/json, text/event-stream'

function marksIn(text: string): string[] {
  return [...(text.match(ID) ?? []), ...(text.match(NAME) ?? [])]
}

function bodyNames(operation: (typeof operationsForKeys)[number], field: string): boolean {
  return operation.method === 'POST' && /^create(Key|Webhook|Listener)$/.test(operation.id) && field === 'agent_id'
}
