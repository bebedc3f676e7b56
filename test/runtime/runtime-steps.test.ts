import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Ruling } from '../../src/runtime/approvals/ask.ts'
import type { ModelAnswer } from '../../src/runtime/models/model.ts'
import { nextStep } from '../../src/runtime/next-step.ts'
import type { Step } from '../../src/runtime/steps.ts'
import { fc, tries } from '../support/running/property.ts'

const asked = (...names: string[]): ModelAnswer => ({
  calls: names.map((name, index) => ({ id: `call_${index}`, name, arguments: '{}' })),
  finish: 'stop',
})
const taken = { attempt: 1, started_at: 0, finished_at: 1, logs: [] }
const spent = { usage: { input_tokens: 1, output_tokens: 1 }, cost_nano: 0 }
const model = (...names: string[]): Step => ({
  kind: 'model',
  model: 'local/tiny',
  answer: asked(...names),
  text: '',
  ...spent,
  ...taken,
})
const tool = (name: string, index = 0): Step => ({ kind: 'tool', index, call: resultOf(name), ...taken })
const resultOf = (name: string) => ({ id: 'call_0', name, arguments: {}, duration_ms: 1, result: `${name} result` })
const now = 1_000
const next = (steps: Step[], max_steps = 8, attempt = 1) => nextStep(steps, { max_steps, attempt, now })
const numbersOf = (step: ReturnType<typeof next>) =>
  step.kind === 'tools' ? step.calls.map(({ call, number }) => `${call.name} ${number}`) : assert.fail(step.kind)

describe('the next step of a run', () => {
  test('is a model call at first', () => {
    assert.deepEqual(next([]), { kind: 'model', rounds: [], asksOutput: false })
  })

  test('is the tool calls that the model requested', () => {
    const [a, b] = asked('a', 'b').calls
    assert.deepEqual(next([model('a', 'b')]), {
      kind: 'tools',
      calls: [
        { call: a, index: 0, number: 2, isTold: false, isInDoubt: false, decided: undefined, repeats: 1 },
        { call: b, index: 1, number: 3, isTold: false, isInDoubt: false, decided: undefined, repeats: 1 },
      ],
    })
  })

  test('is only the tool calls without a result, whatever their order', () => {
    assert.deepEqual(numbersOf(next([model('a', 'b'), tool('a')])), ['b 3'])
    assert.deepEqual(numbersOf(next([model('a', 'b'), tool('b', 1)])), ['a 2'])
  })

  test('has the same call numbers in every attempt', () => {
    const steps = [model('a', 'b'), tool('b', 1), tool('a'), model('c', 'd')]
    assert.deepEqual(numbersOf(next(steps)), ['c 5', 'd 6'])
    assert.deepEqual(numbersOf(next([...steps, tool('d', 1)], 8, 2)), ['c 5'])
  })

  test('marks calls as uncertain that an earlier attempt might have made', () => {
    const doubts = (attempt: number) => {
      const step = next([model('a')], 8, attempt)
      return step.kind === 'tools' && step.calls.map(({ isInDoubt }) => isInDoubt)
    }
    assert.deepEqual(doubts(1), [false])
    assert.deepEqual(doubts(2), [true])
  })

  test('marks an approved call as uncertain only if an earlier attempt might have made it after the approval', () => {
    const doubts = (decided: Pick<Ruling, 'kind' | 'decision'>, attempt: number) => {
      const ruling = { call_id: 'call_0', tool: 'a', by: 'key_1', ...decided }
      const step = next([model('a'), { kind: 'approval', index: 0, decided: ruling, ...taken }], 8, attempt)
      return step.kind === 'tools' && step.calls.map(({ isInDoubt }) => isInDoubt)
    }
    assert.deepEqual(doubts({ kind: 'tool', decision: 'approved' }, 2), [false])
    assert.deepEqual(doubts({ kind: 'tool', decision: 'approved' }, 3), [true])
    for (const decision of ['rejected', 'expired'] as const) {
      assert.deepEqual(doubts({ kind: 'tool', decision }, 3), [false], decision)
      assert.deepEqual(doubts({ kind: 'retry', decision }, 3), [false], decision)
    }
    assert.deepEqual(doubts({ kind: 'question', decision: 'approved' }, 3), [false])
  })

  test("is a model call when all results are there, with each round's results in the order of the calls", () => {
    const step = next([model('a', 'b'), tool('b', 1), tool('a'), model('c'), tool('c')])
    assert.deepEqual(step.kind === 'model' && step.rounds.map(({ results }) => results), [
      [resultOf('a'), resultOf('b')],
      [resultOf('c')],
    ])
  })

  test('is the answer if the model requests no tool', () => {
    assert.deepEqual(next([model('a'), tool('a'), model()]), { kind: 'answer', finish: 'stop' })
  })

  test('does not include the tool calls of the last allowed answer', () => {
    assert.deepEqual(next([model('a'), tool('a'), model('b')], 2), {
      kind: 'over',
      limit: { name: 'max_steps', most: 2 },
    })
    assert.deepEqual(next([model('a'), tool('a'), model()], 2), { kind: 'answer', finish: 'stop' })
  })

  test('waits until the time in the last step, and then continues', () => {
    const wait = (finished_at: number): Step => ({ kind: 'wait', reason: 'busy', ...spent, ...taken, finished_at })
    assert.deepEqual(next([wait(now + 1)]), { kind: 'wait', until: now + 1 })
    const early = { ...wait(now + 1), attempt: taken.attempt - 1 }
    assert.equal(next([early]).kind, 'model', 'the next attempt was begun because the wait was over')
    assert.equal(next([wait(now)]).kind, 'model')
    assert.deepEqual(numbersOf(next([model('a'), wait(now)])), ['a 2'])
  })

  test('marks a call as uncertain after a stop of the service, but not after any other wait', () => {
    const doubts = (reason: string) => {
      const step = next([model('a'), { kind: 'wait', reason, ...spent, ...taken }], 8, taken.attempt + 1)
      return step.kind === 'tools' && step.calls.map(({ isInDoubt }) => isInDoubt)
    }
    assert.deepEqual(doubts('The service stopped'), [true])
    assert.deepEqual(doubts('Paused'), [false])
  })
})

describe('a run is ended', () => {
  const limited = (steps: Step[], limits: object) => nextStep(steps, { max_steps: 64, attempt: 1, now, ...limits })
  const rounds = (count: number) => Array.from({ length: count }, (_, i) => [model(`t${i}`), tool(`t${i}`)]).flat()

  test('by its tokens from all attempts, before a model call or tool call', () => {
    const over = { kind: 'over', limit: { name: 'max_tokens_per_run', most: 4, used: 4 } }
    assert.deepEqual(limited(rounds(2), { max_tokens_per_run: 4 }), over)
    assert.deepEqual(limited([...rounds(1), model('b')], { max_tokens_per_run: 4, attempt: 3 }), over)
    assert.equal(limited(rounds(2), { max_tokens_per_run: 5 }).kind, 'model')
    // An existing answer is not discarded.
    assert.equal(limited([...rounds(1), model()], { max_tokens_per_run: 1 }).kind, 'answer')
    const paused: Step = { kind: 'wait', reason: 'Paused', ...spent, ...taken }
    assert.deepEqual(limited([paused, paused], { max_tokens_per_run: 4 }), over)
  })

  test('by its cost, and by an unknown cost', () => {
    const costing = (cost_nano: number | null): Step => ({ ...model('a'), cost_nano }) as Step
    const at = (cost_nano: number | null) => limited([costing(cost_nano), tool('a')], { max_cost_per_run: 0.5 })
    assert.equal(at(499_999_999).kind, 'model')
    for (const cost of [500_000_000, null]) {
      assert.deepEqual(at(cost), { kind: 'over', limit: { name: 'max_cost_per_run', most: 0.5, cost } })
    }
  })

  test('by its tool calls: if an answer exceeds the limit, none of its calls is made', () => {
    const limits = { max_tool_calls: 2 }
    assert.deepEqual(limited([...rounds(1), model('a', 'b')], limits), {
      kind: 'over',
      limit: { name: 'max_tool_calls', most: 2 },
    })
    assert.equal(limited([...rounds(1), model('a')], limits).kind, 'tools')
  })

  test('by the same call several times in a row, from any attempt', () => {
    const letters = fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(letters, fc.integer({ min: 1, max: 4 }), (names, attempt) => {
        const before = names.slice(0, -1).flatMap((name) => [model(name), tool(name)])
        const last = names.at(-1) as string
        const others = names.toReversed().findIndex((name) => name !== last)
        const inARow = others < 0 ? names.length : others
        const step = limited([...before, model(last)], { attempt })
        if (inARow >= 5) {
          assert.deepEqual(step, { kind: 'over', limit: { name: 'repeats', tool: last, most: 5 } })
        } else {
          assert.deepEqual(step.kind === 'tools' && step.calls.map(({ repeats }) => repeats), [inARow])
        }
      }),
      { numRuns: tries(300) },
    )
  })
})
