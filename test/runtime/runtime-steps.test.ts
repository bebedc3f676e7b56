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

describe('what a run does next', () => {
  test('asks the model first', () => {
    assert.deepEqual(next([]), { kind: 'model', rounds: [], asksOutput: false })
  })

  test('calls the tools that the model asked for', () => {
    const [a, b] = asked('a', 'b').calls
    assert.deepEqual(next([model('a', 'b')]), {
      kind: 'tools',
      calls: [
        { call: a, index: 0, number: 2, isTold: false, isInDoubt: false, decided: undefined, repeats: 1 },
        { call: b, index: 1, number: 3, isTold: false, isInDoubt: false, decided: undefined, repeats: 1 },
      ],
    })
  })

  test('calls only the tools that have not answered yet, whichever those are', () => {
    assert.deepEqual(numbersOf(next([model('a', 'b'), tool('a')])), ['b 3'])
    assert.deepEqual(numbersOf(next([model('a', 'b'), tool('b', 1)])), ['a 2'])
  })

  test('numbers a call alike in every attempt', () => {
    const steps = [model('a', 'b'), tool('b', 1), tool('a'), model('c', 'd')]
    assert.deepEqual(numbersOf(next(steps)), ['c 5', 'd 6'])
    assert.deepEqual(numbersOf(next([...steps, tool('d', 1)], 8, 2)), ['c 5'])
  })

  test('is in doubt about calls that an earlier attempt may have made', () => {
    const doubts = (attempt: number) => {
      const step = next([model('a')], 8, attempt)
      return step.kind === 'tools' && step.calls.map(({ isInDoubt }) => isInDoubt)
    }
    assert.deepEqual(doubts(1), [false])
    assert.deepEqual(doubts(2), [true])
  })

  test('a call that people were asked about is in doubt only if they approved it', () => {
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

  test('asks again when all of them have, and shows every round with its results in the order of the calls', () => {
    const step = next([model('a', 'b'), tool('b', 1), tool('a'), model('c'), tool('c')])
    assert.deepEqual(step.kind === 'model' && step.rounds.map(({ results }) => results), [
      [resultOf('a'), resultOf('b')],
      [resultOf('c')],
    ])
  })

  test('answers when the model calls nothing', () => {
    assert.deepEqual(next([model('a'), tool('a'), model()]), { kind: 'answer', finish: 'stop' })
  })

  test('does not call the tools of the last answer it may have', () => {
    assert.deepEqual(next([model('a'), tool('a'), model('b')], 2), {
      kind: 'over',
      limit: { name: 'max_steps', most: 2 },
    })
    assert.deepEqual(next([model('a'), tool('a'), model()], 2), { kind: 'answer', finish: 'stop' })
  })

  test('waits until the time that the last step names, and then continues', () => {
    const wait = (finished_at: number): Step => ({ kind: 'wait', reason: 'busy', ...spent, ...taken, finished_at })
    assert.deepEqual(next([wait(now + 1)]), { kind: 'wait', until: now + 1 })
    const early = { ...wait(now + 1), attempt: taken.attempt - 1 }
    assert.equal(next([early]).kind, 'model', 'the next attempt was begun because the wait was over')
    assert.equal(next([wait(now)]).kind, 'model')
    assert.deepEqual(numbersOf(next([model('a'), wait(now)])), ['a 2'])
  })

  test('does not know whether a call was made when its service stopped; it was not before any other wait', () => {
    const doubts = (reason: string) => {
      const step = next([model('a'), { kind: 'wait', reason, ...spent, ...taken }], 8, taken.attempt + 1)
      return step.kind === 'tools' && step.calls.map(({ isInDoubt }) => isInDoubt)
    }
    assert.deepEqual(doubts('The service stopped'), [true])
    assert.deepEqual(doubts('Paused'), [false])
  })
})

describe('what ends a run', () => {
  const limited = (steps: Step[], limits: object) => nextStep(steps, { max_steps: 64, attempt: 1, now, ...limits })
  const rounds = (count: number) => Array.from({ length: count }, (_, i) => [model(`t${i}`), tool(`t${i}`)]).flat()

  test('tokens, before the model is asked and before a tool is called, in whichever attempt they were used', () => {
    const over = { kind: 'over', limit: { name: 'max_tokens_per_run', most: 4, used: 4 } }
    assert.deepEqual(limited(rounds(2), { max_tokens_per_run: 4 }), over)
    assert.deepEqual(limited([...rounds(1), model('b')], { max_tokens_per_run: 4, attempt: 3 }), over)
    assert.equal(limited(rounds(2), { max_tokens_per_run: 5 }).kind, 'model')
    // An answer that is there is not thrown away.
    assert.equal(limited([...rounds(1), model()], { max_tokens_per_run: 1 }).kind, 'answer')
    const paused: Step = { kind: 'wait', reason: 'Paused', ...spent, ...taken }
    assert.deepEqual(limited([paused, paused], { max_tokens_per_run: 4 }), over)
  })

  test('costs, and a cost that is not known', () => {
    const costing = (cost_nano: number | null): Step => ({ ...model('a'), cost_nano }) as Step
    const at = (cost_nano: number | null) => limited([costing(cost_nano), tool('a')], { max_cost_per_run: 0.5 })
    assert.equal(at(499_999_999).kind, 'model')
    for (const cost of [500_000_000, null]) {
      assert.deepEqual(at(cost), { kind: 'over', limit: { name: 'max_cost_per_run', most: 0.5, cost } })
    }
  })

  test('tool calls: an answer with more calls than allowed makes none of them', () => {
    const limits = { max_tool_calls: 2 }
    assert.deepEqual(limited([...rounds(1), model('a', 'b')], limits), {
      kind: 'over',
      limit: { name: 'max_tool_calls', most: 2 },
    })
    assert.equal(limited([...rounds(1), model('a')], limits).kind, 'tools')
  })

  test('the same call again and again, whatever was stored of it and in whichever attempt', () => {
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
