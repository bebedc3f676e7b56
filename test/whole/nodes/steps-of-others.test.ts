import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeWire } from '../../../src/runtime/following/node-message.ts'
import { StepsElsewhere } from '../../../src/runtime/remote-agent/steps-elsewhere.ts'
import { databaseUrl, wireOf } from '../../support/inside.ts'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { startService } from '../../support/service/service.ts'
import { startRawRemote } from '../../support/slices/remote-agents.ts'

/** Longer than a node takes to say that it has a run. */
const A_WHILE_MS = 60_000
/** Longer than another node waits for its word, and shorter than its runs stay its own. */
const STANDSTILL_MS = 3_500

/** Nodes that hear each other at once. One of them has the run, and does its steps when the test lets it. */
function startNodes(has: string) {
  const listeners: ((message: string) => void)[] = []
  const sent: { kind: string; steps?: unknown }[] = []
  const wire: NodeWire = {
    onMessage: (listener) => listeners.push(listener),
    async publish(message) {
      sent.push(JSON.parse(message))
      for (const listener of listeners) listener(message)
    },
  }
  const done = Promise.withResolvers<{ status: 'done'; steps: { id: string; result: string }[] }>()
  const nodeOf = (node: string, isHere: (request_id: string) => boolean) =>
    new StepsElsewhere({ node, wire, has: ({ request_id }) => isHere(request_id), take: () => done.promise })
  const asking = nodeOf('asks', () => false)
  nodeOf('has', (request_id) => request_id === has)
  const finish = (result: string) => done.resolve({ status: 'done', steps: [{ id: 'look', result }] })
  return { asking, finish, sent }
}

const askFor = (nodes: ReturnType<typeof startNodes>, request_id: string) =>
  nodes.asking.ask({
    request_id,
    attempt: 1,
    steps: [{ id: 'look', type: 'tool', tool: 'look', arguments: {} }],
  })

test('steps requested through another node can take a long time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const nodes = startNodes('req_1')
  const told = askFor(nodes, 'req_1')
  t.mock.timers.tick(A_WHILE_MS)
  nodes.finish('calm')
  assert.deepEqual(await told, { status: 'done', steps: [{ id: 'look', result: 'calm' }] })
})

test('a run that no node has is not found, and its steps are sent to none', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const nodes = startNodes('req_1')
  const told = askFor(nodes, 'req_2')
  t.mock.timers.tick(A_WHILE_MS)
  assert.deepEqual(await told, { status: 'not found' })
  assert.deepEqual(
    nodes.sent.map(({ kind, steps }) => [kind, steps]),
    [['steps.find', undefined]],
  )
})

test("a remote agent can use any node, and requests with an ended run's token count toward the rate limit only", async (t) => {
  const tiers = JSON.stringify({ few: { requestsPerMinute: 60, burst: 5 } })
  const limits = { MOORAGE_LIMITS__TIERS: tiers, MOORAGE_LIMITS__DEFAULT_TIER: 'few' }
  const first = await startService('postgres', { ...LOCAL_TOOLS, ...limits })
  const second = await first.beside(limits)
  t.after(async () => {
    await second.stop()
    await first.stop()
  })
  type Call = { steps_url: string; steps_token: string }
  const ask = ({ steps_url, steps_token }: Call, id: string) =>
    second.call('POST', new URL(steps_url).pathname, {
      key: steps_token,
      body: { steps: [{ id, type: 'keep', value: id }] },
    })
  let last: Call | undefined
  const told: number[] = []
  const { server, agent } = await startRawRemote<Call>(first, async (response, call) => {
    last = call
    for (let i = 0; i < 12; i += 1) told.push((await ask(call, `step ${i}`)).status)
    response.end('{"response": "done"}')
  })
  t.after(() => server.close())
  const { status, text } = await first.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Go' } })
  assert.equal(status, 200, text)
  assert.deepEqual(
    told,
    Array.from({ length: 12 }, () => 200),
  )

  const sent: string[] = []
  wireOf(first)?.onMessage((message) => sent.push(message))
  const replies: number[] = []
  for (let i = 0; i < 10; i += 1) replies.push((await ask(last as Call, 'late')).status)
  assert.deepEqual(replies.slice(0, 5), [409, 409, 409, 409, 409])
  assert.equal(replies.at(-1), 429)
  assert.deepEqual(
    sent.filter((message) => message.includes('steps.')),
    [],
  )
})

test('a suspended node is asked again later, and then executes the steps', async (t) => {
  const settings = { ...LOCAL_TOOLS, MOORAGE_MASTER_KEY: '00'.repeat(32) }
  const asked = await startService('postgres', settings)
  t.after(() => asked.stop())
  const node = await startChildService(t, 'postgres', {
    ...settings,
    MOORAGE_INIT_KEY: asked.admin,
    DATABASE_URL: databaseUrl(asked),
  })
  type Call = { steps_url: string; steps_token: string }
  const { server, agent } = await startRawRemote<Call>(asked, async (response, { steps_url, steps_token }) => {
    process.kill(node.pid(), 'SIGSTOP')
    setTimeout(() => process.kill(node.pid(), 'SIGCONT'), STANDSTILL_MS)
    const body = { steps: [{ id: 'kept', type: 'keep', value: 'calm' }] }
    const reply = await asked.call('POST', new URL(steps_url).pathname, { key: steps_token, body })
    response.end(JSON.stringify({ response: reply.text }))
  })
  t.after(() => server.close())
  const reply = await node.send('POST', `/v1/agents/${agent}/invoke`, { message: 'Go' })
  assert.equal(reply?.status, 200, JSON.stringify(reply))
  const { data } = JSON.parse(reply.body.data.response)
  assert.deepEqual(data, { status: 'done', steps: [{ id: 'kept', result: 'calm' }] })
})
