import type { Invocation, InvocationStep } from './api.ts'

type Attempt = Invocation['attempts'][number]

/** Says why an attempt of a run started. Returns nothing for the first attempt. */
export function attemptText(run: Pick<Invocation, 'steps'>, attempt: Attempt): string | undefined {
  if (attempt.after === 'start') return undefined
  if (attempt.after === 'lost')
    return `Attempt ${attempt.number}: the node that ran the previous attempt stopped or failed`
  const awaited = run.steps.filter((step) => isAwaited(step, attempt))
  const began = Math.min(...awaited.map(({ started_at }) => Date.parse(started_at ?? attempt.began_at)))
  const time = awaited.length > 0 ? `, ${timeText(Date.parse(attempt.began_at) - began)}` : ''
  const what = [...new Set(awaited.map(awaitedText))].join(' and ') || 'a wait'
  return `Resumed after ${what}${time}`
}

/** The attempts that started after one step, and before or with the next one. */
export function attemptsBetween(
  { attempts }: Pick<Invocation, 'attempts'>,
  before: InvocationStep | undefined,
  next: InvocationStep | undefined,
): Attempt[] {
  const [from, to] = [before?.attempt ?? 0, next?.attempt ?? Number.POSITIVE_INFINITY]
  return attempts.filter(({ number }) => number > from && number <= to)
}

/** A person's decision and a wait are steps of the attempt that ended with them. */
function isAwaited(step: InvocationStep, { number }: Attempt): boolean {
  if (step.kind === 'tool') return step.attempt === number && step.child !== undefined
  return step.attempt === number - 1 && (step.kind === 'approval' || step.kind === 'wait')
}

function awaitedText(step: InvocationStep): string {
  if (step.kind === 'tool') return `a run of ${step.child?.agent ?? step.name}`
  if (step.kind !== 'approval') return `a wait (${step.kind === 'wait' ? step.reason : step.kind})`
  const by = step.by === null ? '' : ` by ${step.by_name ?? step.by}`
  if (step.answer !== undefined) return `an answer${by}`
  return { approved: `approval${by}`, rejected: `rejection${by}`, expired: 'an approval expired' }[step.decision]
}

const UNITS: [text: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

function timeText(ms: number): string {
  const [unit, length] = UNITS.find((known) => ms >= known[1]) ?? ['ms', 1]
  return `${Math.round(ms / length)} ${unit}`
}
