import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeWire } from '../../src/runtime/following/node-message.ts'
import { StepsElsewhere } from '../../src/runtime/remote-agent/steps-elsewhere.ts'

/** Longer than a node takes to say that it has a run. */
const A_WHILE_MS = 60_000

/** Nodes that hear each other at once. One of them has the run, and does its steps when the test lets it. */
function startNodes(has: string) {
  const listeners: ((message: string) => void)[] = []
  const wire: NodeWire = {
    onMessage: (listener) => listeners.push(listener),
    async publish(message) {
      for (const listener of listeners) listener(message)
    },
  }
  const done = Promise.withResolvers<{ status: 'done'; steps: { id: string; result: string }[] }>()
  const nodeOf = (node: string) =>
    new StepsElsewhere({ node, wire, take: ({ request_id }) => (request_id === has ? done.promise : undefined) })
  const asking = new StepsElsewhere({ node: 'asks', wire, take: () => undefined })
  nodeOf('has')
  return { asking, finish: (result: string) => done.resolve({ status: 'done', steps: [{ id: 'look', result }] }) }
}

const askFor = (nodes: ReturnType<typeof startNodes>, request_id: string) =>
  nodes.asking.ask({
    request_id,
    attempt: 1,
    steps: [{ id: 'look', type: 'tool', tool: 'look', arguments: {} }],
  })

test('steps that are asked of another node may take long where the run is', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const nodes = startNodes('req_1')
  const told = askFor(nodes, 'req_1')
  t.mock.timers.tick(A_WHILE_MS)
  nodes.finish('calm')
  assert.deepEqual(await told, { status: 'done', steps: [{ id: 'look', result: 'calm' }] })
})

test('a run that no node has is over', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const told = askFor(startNodes('req_1'), 'req_2')
  t.mock.timers.tick(A_WHILE_MS)
  assert.deepEqual(await told, { status: 'over' })
})
