import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ModelAnswer } from '../src/runtime/models/model.ts'
import { nextStep, type Step } from '../src/runtime/steps.ts'

const asked = (...names: string[]): ModelAnswer => ({
  calls: names.map((name, index) => ({ id: `call_${index}`, name, arguments: '{}' })),
  finish: 'stop',
})
const model = (...names: string[]): Step => ({ kind: 'model', answer: asked(...names) })
const tool = (name: string): Step => ({
  kind: 'tool',
  call: { id: 'call_0', name, arguments: {}, duration_ms: 1, result: `${name} result` },
})
const resultOf = (name: string) => ({ id: 'call_0', name, arguments: {}, duration_ms: 1, result: `${name} result` })

describe('what a run does next', () => {
  test('asks the model first', () => {
    assert.deepEqual(nextStep([], 8), { kind: 'model', rounds: [] })
  })

  test('calls the tools that the model asked for', () => {
    assert.deepEqual(nextStep([model('a', 'b')], 8), { kind: 'tools', calls: asked('a', 'b').calls })
  })

  test('calls only the tools that have not answered yet', () => {
    assert.deepEqual(nextStep([model('a', 'b'), tool('a')], 8), {
      kind: 'tools',
      calls: asked('a', 'b').calls.slice(1),
    })
  })

  test('asks again when all of them have, and shows every round', () => {
    assert.deepEqual(nextStep([model('a', 'b'), tool('a'), tool('b'), model('c'), tool('c')], 8), {
      kind: 'model',
      rounds: [
        { ...asked('a', 'b'), results: [resultOf('a'), resultOf('b')] },
        { ...asked('c'), results: [resultOf('c')] },
      ],
    })
  })

  test('answers when the model calls nothing', () => {
    assert.deepEqual(nextStep([model('a'), tool('a'), model()], 8), { kind: 'answer', finish: 'stop' })
  })

  test('does not call the tools of the last answer it may have', () => {
    assert.deepEqual(nextStep([model('a'), tool('a'), model('b')], 2), { kind: 'too many steps' })
    assert.deepEqual(nextStep([model('a'), tool('a'), model()], 2), { kind: 'answer', finish: 'stop' })
  })
})
