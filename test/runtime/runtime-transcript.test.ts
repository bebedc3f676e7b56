import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LiveRuns } from '../../src/runtime/following/live-runs.ts'
import { eventId, readEventId, type StreamEvent, Transcript } from '../../src/runtime/following/transcript.ts'
import type { RunEvent } from '../../src/runtime/outcome.ts'

const delta = (text: string): RunEvent => ({ type: 'delta', text })
const call: RunEvent = { type: 'tool_call', id: 'call_1', name: 'clock', arguments: {} }
const result: RunEvent = { type: 'tool_result', id: 'call_1', name: 'clock', result: 'noon' }
const SAID = [delta('Let me see. '), call, result, delta('It is '), delta('noon.')]

/** What a client holds that was told these events: text, tool events, the last id. */
function heard(events: readonly StreamEvent[]) {
  const text = events.map(({ event, data }) => (event === 'delta' ? (data as { text: string }).text : '')).join('')
  return { text, tools: events.filter(({ event }) => event.startsWith('tool_')).map(({ event }) => event) }
}

function liveRun() {
  const run = new LiveRuns().start('req_1', 'agt_1')
  run.began = { attempt: 2, milestones: [], user_id: undefined, created_by: 'key_1' }
  return run
}

const START = { characters: 0, tools: 0 }
const WHOLE = { text: 'Let me see. It is noon.', tools: ['tool_call', 'tool_result'] }

describe('event ids', () => {
  test('contain attempt, characters and tool events', () => {
    assert.equal(eventId({ attempt: 2, characters: 12, tools: 3 }), '2.12.3')
    assert.deepEqual(readEventId('2.12.3'), { attempt: 2, characters: 12, tools: 3 })
  })

  test('"done" is after all others, and other texts are not event IDs', () => {
    assert.deepEqual(readEventId('done'), { attempt: Infinity, characters: Infinity, tools: Infinity })
    for (const id of ['', '12', '12.3', '1.2.3.4', '-1.0.0', '1.2.x', '9999999999.0.0', ' 1.0.0']) {
      assert.equal(readEventId(id), undefined, id)
    }
  })
})

describe('following a run', () => {
  test('reports each event as it happens', () => {
    const run = liveRun()
    const events: StreamEvent[] = []
    run.follow(START, (event) => events.push(event))
    for (const event of SAID) run.record(event)
    assert.deepEqual(
      events.map(({ id }) => id),
      ['2.12.0', '2.12.1', '2.12.2', '2.18.2', '2.23.2'],
    )
    assert.deepEqual(heard(events), WHOLE)
  })

  test('from any event and at any moment sends the rest once: nothing is missing or repeated', () => {
    const first = new Transcript(2)
    const ids = ['2.0.0', ...SAID.map((event) => first.add(event).id)]
    for (const [heardCount, id] of ids.entries()) {
      const before = heard(SAID.slice(0, heardCount).map((event) => new Transcript(2).add(event)))
      for (let joined = 0; joined <= SAID.length; joined += 1) {
        const run = liveRun()
        for (const event of SAID.slice(0, joined)) run.record(event)
        const events: StreamEvent[] = []
        run.follow(readEventId(id) ?? assert.fail(), (event) => events.push(event))
        for (const event of SAID.slice(joined)) run.record(event)
        const rest = heard(events)
        const whole = { text: before.text + rest.text, tools: [...before.tools, ...rest.tools] }
        assert.deepEqual(whole, WHOLE, `after ${id}, joined after ${joined} events`)
        if (events.length > 0) assert.equal(events.at(-1)?.id, ids.at(-1))
      }
    }
  })

  test('from within a chunk of text sends the rest of that chunk', () => {
    const run = liveRun()
    const events: StreamEvent[] = []
    run.follow({ characters: 4, tools: 0 }, (event) => events.push(event))
    run.record(delta('Let me see. '))
    assert.deepEqual(events, [{ id: '2.12.0', event: 'delta', data: { text: 'me see. ' } }])
  })

  test('ends for a follower that has left', () => {
    const run = liveRun()
    const events: StreamEvent[] = []
    const leave = run.follow(START, (event) => events.push(event))
    run.record(delta('one'))
    leave()
    run.record(delta('two'))
    assert.deepEqual(heard(events).text, 'one')
  })
})
