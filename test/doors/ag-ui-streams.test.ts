import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EventType, HttpAgent } from '@ag-ui/client'
import { AgUiWriter } from '../../src/http/dialects/ag-ui/event-writer.ts'
import { readInterrupts } from '../../src/http/dialects/ag-ui/interrupts.ts'
import { readRun } from '../../src/http/dialects/ag-ui/sent-run.ts'
import { Transcript } from '../../src/runtime/following/transcript.ts'
import type { RunEvent } from '../../src/runtime/outcome.ts'
import { fc } from '../support/running/property.ts'

const REQUEST = `req_${'0'.repeat(26)}`

type Ending = 'done' | 'error' | 'cancelled' | 'waiting'
type Story = { rounds: Round[]; lost: Round[]; ending: Ending; isOld: boolean }
type Round = { text: string; calls: { args: unknown; result: string }[] }

const round = fc.record({
  text: fc.string({ unit: 'binary', maxLength: 12 }),
  calls: fc.array(fc.record({ args: fc.jsonValue({ maxDepth: 1 }), result: fc.string({ maxLength: 5 }) }), {
    maxLength: 3,
  }),
})
const story: fc.Arbitrary<Story> = fc.record({
  rounds: fc.array(round, { maxLength: 4 }),
  lost: fc.array(round, { maxLength: 2 }),
  ending: fc.constantFrom<Ending>('done', 'error', 'cancelled', 'waiting'),
  isOld: fc.boolean(),
})

/** What a run says in these rounds. Models repeat IDs of calls. */
function eventsOf(rounds: readonly Round[]): RunEvent[] {
  return rounds.flatMap(({ text, calls }): RunEvent[] => [
    ...(text === '' ? [] : [{ type: 'delta' as const, text }]),
    ...calls.map(({ args }, i) => ({ type: 'tool_call' as const, id: `call_${i}`, name: 'sonar', arguments: args })),
    { type: 'tool_call', id: 'host', name: 'step.model', arguments: 'the instructions' },
    ...calls.map(({ result }, i) => ({ type: 'tool_result' as const, id: `call_${i}`, name: 'sonar', result })),
    { type: 'tool_result', id: 'host', name: 'step.model', result: 'what a model said' },
  ])
}

const run = (isOld: boolean) =>
  readRun({
    threadId: 't',
    runId: 'r',
    messages: [{ id: 'm', role: 'user', content: 'x' }],
    ...(!isOld && { protocolVersion: '1.0' }),
  })

const spoken = (attempt: number, rounds: readonly Round[]) => {
  const transcript = new Transcript(attempt)
  return eventsOf(rounds).map((event) => transcript.add(event))
}

const WAITING = {
  request_id: REQUEST,
  approvals: [{ call_id: 'call_0', kind: 'tool' as const, tool: 'sonar', expires_at: '2030-01-01T00:00:00.000Z' }],
}
const DONE = {
  request_id: REQUEST,
  response: '',
  calls: [],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
}

const ENDINGS: Record<Ending, { event: string; data: unknown }> = {
  done: { event: 'done', data: JSON.stringify(DONE) },
  error: { event: 'error', data: JSON.stringify({ error: { code: 'server_error', message: 'No' } }) },
  cancelled: { event: 'error', data: JSON.stringify({ error: { code: 'conflict', message: 'Cancelled' } }) },
  waiting: { event: 'waiting', data: WAITING },
}

type WrittenEvent = { event: string; data: unknown }

const write = (writer: AgUiWriter, events: readonly WrittenEvent[]) =>
  [{ event: 'start', data: { request_id: REQUEST } }, ...events].map((event) => writer.event(event)).join('')

const lastOf = (text: string) => JSON.parse(/data: (.*)\n\n$/.exec(text)?.[1] ?? 'null')

/** The official client. It reads these streams instead of those of a service. */
class Reader extends HttpAgent {
  #text = ''

  constructor() {
    super({ url: 'http://127.0.0.1', threadId: 't', fetch: async () => new Response(this.#text) })
  }

  read(text: string, resume?: { interruptId: string; status: 'resolved' }[]): Promise<unknown> {
    this.#text = text
    return this.runAgent(resume ? { resume } : {})
  }
}

const shown = (reader: Reader) => reader.messages.map(({ id, role, ...rest }) => [id, role, rest])

/** What the client must know in the end: texts and results in their order. Line breaks may separate messages. */
const expected = (rounds: readonly Round[]) =>
  joined(rounds.flatMap(({ text, calls }) => [text, ...calls.map(({ result }) => result)]))
const told = ({ messages }: Reader) =>
  joined(messages.slice(1).map(({ content }) => (content as string | undefined) ?? ''))
const joined = (texts: readonly string[]) => texts.join('').replaceAll('\n', '')

describe('the AG-UI stream of any run', () => {
  test('is valid for the official client, and tells it everything once', async (t) => {
    const silent = () => {}
    t.mock.method(console, 'error', silent)
    const warn = t.mock.method(console, 'warn', silent)
    await fc.assert(
      fc.asyncProperty(story, async ({ rounds, lost, ending, isOld }) => {
        const writer = new AgUiWriter(run(isOld), REQUEST)
        const restarted =
          lost.length > 0 ? [...spoken(1, lost), { event: 'restart', data: { request_id: REQUEST } }] : []
        const events = write(writer, [...restarted, ...spoken(2, rounds), ENDINGS[ending]])
        const reader = new Reader()
        reader.addMessage({ id: 'm', role: 'user', content: 'x' })
        await reader.read(events)
        assert.equal(told(reader), expected(rounds))
        assert.doesNotMatch(events, /step\.model|the instructions/)
        const last = lastOf(events)
        const outcome = {
          done: 'success',
          waiting: 'interrupt',
          cancelled: isOld ? undefined : 'cancelled',
          error: undefined,
        }
        assert.equal(last?.outcome?.type, outcome[ending])
        assert.equal(last?.type, outcome[ending] ? EventType.RUN_FINISHED : EventType.RUN_ERROR)
      }),
      { numRuns: 1_000 },
    )
    assert.equal(warn.mock.callCount(), 0)
  })

  test('continues after an interrupt with the same messages as a stream that never stopped', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(round, { minLength: 1, maxLength: 3 }),
        fc.array(round, { maxLength: 3 }),
        async (before, after) => {
          const whole = new Reader()
          const all = spoken(1, [...before, ...after])
          await whole.read(write(new AgUiWriter(run(false), REQUEST), [...all, ENDINGS.done]))

          const parts = new Reader()
          const first = spoken(1, before)
          const stopped = write(new AgUiWriter(run(false), REQUEST), [...first, ENDINGS.waiting])
          await parts.read(stopped)
          const [{ interruptId } = { interruptId: '' }] = parts.pendingInterrupts.map(({ id }) => ({ interruptId: id }))
          const [name] = readInterrupts([{ interruptId, status: 'resolved', payload: true }])
          assert.deepEqual(name.asked, { request_id: REQUEST, call_id: 'call_0' })
          const rest = write(new AgUiWriter(run(false), REQUEST, name.told), [...all, ENDINGS.done])
          await parts.read(rest, [{ interruptId, status: 'resolved' }])
          assert.deepEqual(shown(parts), shown(whole))
        },
      ),
      { numRuns: 100 },
    )
  })
})
