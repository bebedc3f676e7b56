import type { ModelAnswer } from '../models/model.ts'
import type { NextStep } from '../next-step.ts'
import { OutputInvalid } from '../output/check-output.ts'
import type { RunInProgress, RunOutput } from '../run-in-progress.ts'
import { sentenceOf } from '../schemas/schema-errors.ts'
import type { Unfit } from '../steps.ts'
import { sayIn } from './ask-model.ts'

/**
 * Takes an answer of a run that must answer with JSON. If the answer fits, it becomes the response. While the model can
 * still call tools, `asked` is false, and an answer in words is accepted if it happens to fit.
 */
export async function takeOutput<Answered extends { answer: ModelAnswer }>(
  run: RunInProgress,
  { draft, check }: RunOutput,
  answered: Answered,
  asked: boolean,
): Promise<Answered & { unfit?: Unfit }> {
  const { calls, finish } = answered.answer
  if (!asked && calls.length > 0) {
    // The caller sees the text that comes with the calls left to it.
    if (draft !== '' && calls.some(({ handed }) => handed)) sayIn(run, draft)
    return answered
  }
  // If a model calls tools when it isn't allowed to, only the text of its answer is kept.
  const spoken = calls.length > 0 ? { ...answered, answer: { calls: [], finish } } : answered
  const unfit = { text: draft, asked }
  if (finish === 'filtered') {
    return { ...spoken, unfit: { ...unfit, problems: [{ at: '', problem: declined(draft) }], isFinal: true } }
  }
  const checked = await check(draft)
  if ('value' in checked) {
    sayIn(run, checked.text)
    return spoken
  }
  const { problems, isFinal } = checked
  if (asked) run.log('warn', 'The answer does not match the output schema', { problem: firstOf(problems) })
  return { ...spoken, unfit: { ...unfit, problems, ...(isFinal && { isFinal }) } }
}

const MAX_WORDS = 300

function declined(words: string): string {
  return words === '' ? 'the model declined to answer' : `the model declined to answer: ${words.slice(0, MAX_WORDS)}`
}

export function noFittingAnswer({ unfit: { problems }, answers }: Extract<NextStep, { kind: 'unfit' }>): OutputInvalid {
  const asked = answers > 1 ? ` after ${answers} attempts` : ''
  return new OutputInvalid(
    `The agent gave no answer that matches its output schema${asked}: ${firstOf(problems)}`,
    problems,
  )
}

function firstOf([first]: Unfit['problems']): string {
  return first ? sentenceOf(first, 'answer') : ''
}
