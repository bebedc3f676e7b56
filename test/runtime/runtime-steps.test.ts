import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ModelAnswer } from '../../src/runtime/models/model.ts'
import { nextStep, type Step } from '../../src/runtime/steps.ts'

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
    assert.deepEqual(next([]), { kind: 'model', rounds: [] })
  })

  test('calls the tools that the model asked for', () => {
    const [a, b] = asked('a', 'b').calls
    assert.deepEqual(next([model('a', 'b')]), {
      kind: 'tools',
      calls: [
        { call: a, index: 0, number: 2, isTold: false, isInDoubt: false, decided: undefined },
        { call: b, index: 1, number: 3, isTold: false, isInDoubt: false, decided: undefined },
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
    assert.deepEqual(next([model('a'), tool('a'), model('b')], 2), { kind: 'too many steps' })
    assert.deepEqual(next([model('a'), tool('a'), model()], 2), { kind: 'answer', finish: 'stop' })
  })

  test('waits until the time that the last step names, and then goes on', () => {
    const wait = (finished_at: number): Step => ({ kind: 'wait', reason: 'busy', ...spent, ...taken, finished_at })
    assert.deepEqual(next([wait(now + 1)]), { kind: 'wait', until: now + 1 })
    assert.equal(next([wait(now)]).kind, 'model')
    assert.deepEqual(numbersOf(next([model('a'), wait(now)])), ['a 2'])
  })
})
