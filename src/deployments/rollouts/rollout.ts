import { z } from 'zod'
import { mean } from '../../lib/statistics/sequential-test.ts'
import { bareShape, CostUsd, Label, Time } from '../../shapes.ts'
import type { RowWith, Tables } from '../../storage/tables.ts'
import type { ComparedSums, SideSums } from './compared-sums.ts'

const MOST_STEPS = 20
const MOST_MINUTES = 60 * 24 * 30

const ratio = (of: string) =>
  z
    .number()
    .min(1)
    .max(1000)
    .optional()
    .describe(`The candidate's average ${of} can be at most this many times as high`)

const Guard = z
  .strictObject({
    min_answers: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(50)
      .describe(
        'A step ends only when both versions have answered this number of senders in it. A sender is a session, or else a user, or else a request',
      ),
    confidence: z
      .number()
      .min(0.5)
      .max(0.999999)
      .default(0.95)
      .describe('How sure the guard must be that the candidate is worse'),
    max_failure_ratio: z
      .number()
      .min(1)
      .max(1000)
      .default(1)
      .describe(
        "The candidate's odds of failing can be at most this many times as high. For rare failures, that's the ratio of the failure rates",
      ),
    max_latency_ratio: ratio('duration'),
    max_tokens_ratio: ratio('number of tokens'),
    max_cost_ratio: ratio('cost'),
    min_feedback: z
      .number()
      .min(-1)
      .max(1)
      .optional()
      .describe("The candidate's average score must be at least this high, or at least as high as the other version's"),
  })
  .describe('When the candidate is worse than the version that serves the other messages')

/** Where a candidate gets more of the messages from step to step. */
export const RolloutStrategy = z.strictObject({
  steps: z
    .array(
      z.strictObject({
        percent: z.number().min(0.01).max(100).describe('The share of the messages that the candidate answers'),
        minutes: z.number().min(0).max(MOST_MINUTES).describe('How long the step lasts at least'),
      }),
    )
    .min(1)
    .max(MOST_STEPS)
    .refine((steps) => steps.every(({ percent }, i) => percent > (steps[i - 1]?.percent ?? 0)), {
      error: 'must have a higher percent in each step',
    }),
  guard: Guard.prefault({}),
  on_bad: z
    .enum(['rollback', 'pause'])
    .default('rollback')
    .describe('If the candidate is worse: `rollback` aborts the deployment, `pause` waits for a person'),
})
export type RolloutStrategy = z.output<typeof RolloutStrategy>

/** As records show it. */
export const ShownStrategy = z
  .object({ ...bareShape(RolloutStrategy.shape), guard: z.object(bareShape(Guard.shape)) })
  .meta({ id: 'RolloutStrategy' })

export const RequiredReplay = z.strictObject({
  set: Label(63).describe('The name of a set of the agent'),
  min_pass: z.number().min(0).max(1).default(1).describe('The share of the cases that must pass'),
})
export type RequiredReplay = z.output<typeof RequiredReplay>

export const ShownRequiredReplay = z.object(bareShape(RequiredReplay.shape)).meta({ id: 'RequiredReplay' })

const Side = z.object({
  answers: z.int().describe('The first answers that senders got in a step'),
  failures: z.int().describe("Failures that the caller didn't cause"),
  avg_ms: z.number().nullable(),
  avg_tokens: z.number().nullable(),
  avg_cost_usd: CostUsd,
  scores: z.int().describe('How often the answers were rated'),
  avg_score: z.number().nullable(),
})

export const RolloutProgress = z
  .object({
    step: z.int().describe('The current step, from 1. 0 while the deployment waits for its replay'),
    percent: z.number().describe('The share of the messages that the candidate answers now'),
    minutes_left: z.number().describe('How long the step lasts at least'),
    waits_for: z
      .enum(['replay', 'time', 'answers', 'person'])
      .nullable()
      .describe(
        'What the next step waits for: the replay, the end of the minutes, more answers of both versions, or a person who resumes it. Null once the deployment has ended',
      ),
    replay_id: z.string().nullable(),
    candidate: Side.nullable(),
    serving: Side.nullable().describe('The version that serves the other messages, since the deployment began'),
    looked_at: Time.nullable().describe('When the guard last compared them'),
  })
  .meta({ id: 'RolloutProgress' })

export const RolloutVerdict = z.enum(['failures', 'latency', 'tokens', 'cost', 'feedback', 'replay', 'tools'])
export type RolloutVerdict = z.output<typeof RolloutVerdict>

export const RolloutEvidence = z
  .object({
    verdict: RolloutVerdict.describe(
      'What was worse; `replay` if the required replay did not pass; `tools` if the version can no longer call the agents that its tools name',
    ),
    reason: z.string().describe('The verdict in words'),
    candidate: Side.nullable(),
    serving: Side.nullable(),
    examples: z.array(z.string()).describe('Invocations of the candidate that show it'),
  })
  .meta({ id: 'RolloutEvidence' })
export type RolloutEvidence = z.output<typeof RolloutEvidence>

export type Rollout = RowWith<
  Tables['rollouts'],
  {
    steps: RolloutStrategy['steps']
    guard: RolloutStrategy['guard']
    on_bad: RolloutStrategy['on_bad']
    require_replay: RequiredReplay | null
    statistics: ComparedSums | null
    evidence: RolloutEvidence | null
  }
>

/** The row when the deployment is made. */
export function newRollout(
  of: Pick<Rollout, 'deployment_id' | 'agent_id' | 'environment' | 'version' | 'serving_id'>,
  strategy: RolloutStrategy | undefined,
  require_replay: RequiredReplay | undefined,
  { now, split_key }: { now: number; split_key: string },
): Rollout {
  const { steps = [], guard = Guard.parse({}), on_bad = 'rollback' } = strategy ?? {}
  const waiting: Rollout = {
    ...of,
    revision: 0,
    share: 0,
    steps,
    guard,
    on_bad,
    require_replay: require_replay ?? null,
    replay_id: null,
    step: 0,
    step_at: null,
    clock_ms: 0,
    clock_at: null,
    statistics: null,
    evidence: null,
    looked_at: null,
    ended_at: null,
    split_key,
  }
  return require_replay ? waiting : atStep(waiting, 1, now)
}

/** The rollout when this step begins. What was compared before stays in its sums. */
export function atStep(rollout: Rollout, step: number, now: number): Rollout {
  const share = Math.round((rollout.steps[step - 1]?.percent ?? 0) * 100)
  return { ...rollout, step, share, step_at: now, clock_ms: 0, clock_at: now }
}

/** How long the current step's clock has run. */
export function ranFor({ clock_ms, clock_at }: Pick<Rollout, 'clock_ms' | 'clock_at'>, now: number): number {
  return clock_ms + (clock_at === null ? 0 : Math.max(0, now - clock_at))
}

/** How long the current step still lasts at least. */
export function timeLeft(rollout: Pick<Rollout, 'steps' | 'step' | 'clock_ms' | 'clock_at'>, now: number): number {
  return Math.max(0, (rollout.steps[rollout.step - 1]?.minutes ?? 0) * 60_000 - ranFor(rollout, now))
}

export function presentProgress(rollout: Rollout, now: number): z.input<typeof RolloutProgress> {
  const { step, share, replay_id, statistics, looked_at, ended_at, clock_at } = rollout
  const left_ms = timeLeft(rollout, now)
  const waits = step === 0 ? 'replay' : clock_at === null ? 'person' : left_ms > 0 ? 'time' : 'answers'
  return {
    step,
    percent: share / 100,
    minutes_left: ended_at === null ? Math.round(left_ms / 600) / 100 : 0,
    waits_for: ended_at === null ? waits : null,
    replay_id,
    candidate: statistics && presentSide(statistics.shown.candidate),
    serving: statistics && presentSide(statistics.shown.serving),
    looked_at,
  }
}

export function presentSide({ answers, failures, ms, tokens, cost, score }: SideSums): z.output<typeof Side> {
  const averageOf = (moments: SideSums['ms']) => (moments.count === 0 ? null : mean(moments))
  const average_nano = averageOf(cost)
  return {
    answers,
    failures,
    avg_ms: averageOf(ms),
    avg_tokens: averageOf(tokens),
    avg_cost_usd: average_nano === null ? null : average_nano / 1e9,
    scores: score.count,
    avg_score: averageOf(score),
  }
}
