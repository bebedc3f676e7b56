import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type WaitingAgent, WaitingAgents } from '../src/invocations/queue/waiting-agents.ts'
import { fc } from './support/running/property.ts'

const PLACES = { total: 8, ofOneAgent: 4 }

/** Agents with queues of so many runs each, and their limits; what runs is ended by the test. */
function simulate(queues: { waiting: number; limit: number | null }[]) {
  const left = queues.map(({ waiting }) => waiting)
  const running: WaitingAgent[] = []
  /** The agent of each run, in the order in which they began. */
  const begun: number[] = []
  const runningOf = (seq: number) => running.filter(({ agent_seq }) => agent_seq === seq).length
  const agents = new WaitingAgents({ ...PLACES, taken: (agent_id) => runningOf(Number(agent_id)) })

  return {
    agents,
    running,
    begun,
    left,
    /** One look at the queues: begins what may begin. */
    look() {
      const turns = agents.allot()
      for (const turn of turns) {
        const { agent, places } = turn
        const seq = agent.agent_seq
        const limit = queues[seq]?.limit ?? null
        // What is taken beyond the limit, while that is not known, goes back into the queue.
        const room = limit === null ? places : limit - runningOf(seq)
        const taken = Math.min(places, left[seq] ?? 0, room)
        left[seq] = (left[seq] ?? 0) - taken
        for (let i = 0; i < taken; i++) {
          running.push(agent)
          begun.push(seq)
        }
        agents.learn(agent, String(seq), limit)
        agents.looked(turn, taken, (left[seq] ?? 0) > 0)
        assert.ok(running.length <= PLACES.total)
        assert.ok(runningOf(seq) <= Math.min(PLACES.ofOneAgent, queues[seq]?.limit ?? PLACES.ofOneAgent))
      }
      return turns.length
    },
    end(index: number) {
      const [agent] = running.splice(index, 1)
      if (!agent) return
      agents.freed(String(agent.agent_seq))
      agents.ended(agent)
    },
  }
}

describe('whose queued runs begin next', () => {
  test('agents take turns: a long queue does not hold up a short one', () => {
    const { agents, look, end, begun, running } = simulate([
      { waiting: 1_000, limit: null },
      { waiting: 3, limit: null },
    ])
    agents.add(0)
    for (let i = 0; i < 50; i++) {
      look()
      end(0)
    }
    agents.add(1)
    const before = begun.length
    while (running.length > 0 && begun.length < before + 20) {
      look()
      end(0)
    }
    const places = begun.slice(before).flatMap((seq, i) => (seq === 1 ? [i] : []))
    assert.equal(places.length, 3)
    assert.ok((places[2] ?? 99) < 8, `the short queue got the places ${places}`)
  })

  test('whoever has no place is not asked for: nobody is looked at again and again', () => {
    const { agents, look, end } = simulate([{ waiting: 10, limit: 1 }])
    agents.add(0)
    assert.equal(look(), 1)
    for (let i = 0; i < 5; i++) assert.equal(look(), 0)
    end(0)
    assert.equal(look(), 1)
  })

  test('what comes while the store is asked is not missed', () => {
    const agents = new WaitingAgents({ ...PLACES, taken: () => 0 })
    agents.add(7)
    const [turn = assert.fail()] = agents.allot()
    agents.add(7)
    assert.deepEqual(agents.allot(), [])
    agents.looked(turn, 0, false)
    assert.equal(agents.allot().length, 1)
  })

  test('whatever happens: limits hold, no place is lost, and every run begins', () => {
    const queue = fc.record({
      waiting: fc.integer({ min: 0, max: 30 }),
      limit: fc.option(fc.integer({ min: 1, max: 5 })),
    })
    const step = fc.oneof(
      fc.record({ kind: fc.constant('end' as const), index: fc.nat(20) }),
      fc.record({ kind: fc.constant('look' as const) }),
      fc.record({ kind: fc.constant('forget' as const) }),
    )
    fc.assert(
      fc.property(
        fc.array(queue, { minLength: 1, maxLength: 6 }),
        fc.array(step, { maxLength: 100 }),
        (queues, steps) => {
          const { agents, look, end, running, left } = simulate(queues)
          for (const seq of queues.keys()) agents.add(seq)
          for (const event of steps) {
            if (event.kind === 'look') look()
            if (event.kind === 'end') end(event.index)
            if (event.kind === 'forget') agents.forgetLimits()
          }
          for (let i = 0; i < 1_000 && left.some((waiting) => waiting > 0); i++) {
            look()
            end(0)
          }
          assert.deepEqual(new Set(left), new Set([0]), 'every run has begun')
          while (running.length > 0) end(0)
          look()
          // Two agents with enough to do get all places between them.
          for (const seq of [100, 101]) agents.add(seq)
          const turns = [agents.allot(), agents.allot()].flat()
          for (const turn of turns) {
            agents.learn(turn.agent, String(turn.agent.agent_seq), null)
            agents.looked(turn, turn.places, true)
          }
          const more = agents.allot()
          const places = [...turns, ...more].reduce((sum, turn) => sum + turn.places, 0)
          assert.equal(places, PLACES.total, 'every place is free again')
        },
      ),
    )
  })
})
