import type { ModelAnswer, Round, ToolCall } from './models/model.ts'
import type { ToolStep } from './outcome.ts'

/** One thing that a run has done: it asked the model, or called a tool. Steps are plain values. */
export type Step = { kind: 'model'; answer: ModelAnswer } | { kind: 'tool'; call: ToolStep }

export type NextStep =
  /** Ask the model, and show it the rounds so far. */
  | { kind: 'model'; rounds: Round[] }
  /** Call these tools, side by side. */
  | { kind: 'tools'; calls: readonly ToolCall[] }
  /** The model has said all it wanted to. */
  | { kind: 'answer'; finish: ModelAnswer['finish'] }
  /** The model wants more tools than it may call. */
  | { kind: 'too many steps' }

/** What a run does next follows from the steps it has taken, and from nothing else. */
export function nextStep(steps: readonly Step[], maxSteps: number): NextStep {
  const rounds = roundsOf(steps)
  const last = rounds.at(-1)
  if (!last) return { kind: 'model', rounds }
  if (last.calls.length === 0) return { kind: 'answer', finish: last.finish }
  if (rounds.length >= maxSteps) return { kind: 'too many steps' }
  const waiting = last.calls.slice(last.results.length)
  return waiting.length > 0 ? { kind: 'tools', calls: waiting } : { kind: 'model', rounds }
}

/** Each answer of the model, with the results of the tools that it called, in the order of its calls. */
function roundsOf(steps: readonly Step[]): Round[] {
  const rounds: Round[] = []
  for (const step of steps) {
    if (step.kind === 'model') rounds.push({ ...step.answer, results: [] })
    else rounds.at(-1)?.results.push(step.call)
  }
  return rounds
}
