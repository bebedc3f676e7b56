import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { parseIfJson } from '../../../lib/json.ts'
import { counted } from '../../../lib/text/counted.ts'
import { type AskedStep, callOf, type DoneStep } from '../asked-step.ts'
import { type CallPlan, callRemote, type RemoteTrial, type StepBatch, type TriedRemote } from './call-remote.ts'

/** One point of the contract, and whether the agent fulfils it. */
export const CheckedPoint = z
  .object({
    point: z.string().describe('What the agent should do'),
    status: z.enum(['ok', 'failed', 'not_tried']),
    detail: z.string().nullable().describe('Why it failed or was skipped, or what was found'),
  })
  .meta({ id: 'CheckedPoint' })
export type CheckedPoint = z.infer<typeof CheckedPoint>

const POINTS = {
  answers: 'a signed call is answered',
  signature: 'a wrong signature is refused',
  time: 'an old call is refused',
  again: "a repeated call with the steps' results is answered without new steps",
  order: 'steps with results are not requested again, and the others come in the same order',
  waiting: 'a call with a waiting step ends',
  closed: 'the agent survives a closed connection',
} as const

const OLD_MS = 10 * 60_000
/**
 * When the host closes the connection, because an agent that requests no steps and answers in one piece sends nothing
 * before.
 */
const CLOSE_AFTER_MS = 100
/** An agent that crashes when its connection closes needs a moment to do so. */
const HEARS_AFTER_MS = 200

/** Checks an implementation of the contract, point by point. `answers` contains the results of the named steps. */
export async function* checkPoints(
  trial: RemoteTrial,
  answers: ReadonlyMap<string, string> = new Map(),
): AsyncGenerator<CheckedPoint> {
  const call = (plan: CallPlan = {}) => callRemote(trial, plan, (step) => doneBy(answers, step))
  const first = await call()
  const asked = counted(first.asked.flatMap(({ steps }) => steps).length, 'step')
  yield judged('answers', first.problem, `${asked} requested${namelessText(first)}`)
  if (isRefused(first)) {
    // An agent that refuses every call proves nothing by refusing these.
    for (const name of ['signature', 'time'] as const) yield notTried(name, 'the signed call was refused as well')
  } else {
    yield judged('signature', whyNotRefused(await call({ secret: trial.wrongSecret, take: () => 'over' })))
    yield judged('time', whyNotRefused(await call({ age_ms: OLD_MS, take: () => 'over' })))
  }
  if (first.problem !== undefined) {
    for (const name of ['again', 'order', 'waiting', 'closed'] as const) yield notTried(name, 'the first call failed')
    return
  }
  yield judged('again', await whyNotAgain(call, first))
  if (first.asked.length === 0) {
    yield notTried('order', 'it requested no step')
    yield notTried('waiting', 'it requested no step')
  } else {
    yield judged('order', await whyNotInOrder(call, first))
    yield judged('waiting', whyNotEnded(await call({ take: () => 'waiting' })))
  }
  await call({ closeAfterMs: CLOSE_AFTER_MS, take: () => 'over' })
  await delay(HEARS_AFTER_MS)
  const { problem } = await call()
  yield judged('closed', problem && `the next call: ${problem}`)
}

/** A hint for an agent that reports a model without its provider, because prices belong to a provider's model. */
function namelessText({ models }: TriedRemote): string {
  const nameless = [...models].find((model) => !model.includes('/'))
  return nameless === undefined
    ? ''
    : `; report usage of "${nameless}" as provider/model, so that its price can be found`
}

type Call = (plan: CallPlan) => Promise<TriedRemote>

function isRefused({ status }: TriedRemote): boolean {
  return status === 401 || status === 403
}

function whyNotRefused(tried: TriedRemote): string | undefined {
  if (isRefused(tried)) return undefined
  const { status, problem } = tried
  return status === undefined && problem !== undefined
    ? problem
    : `it was answered with ${status ?? 200} instead of 401`
}

async function whyNotAgain(call: Call, { request_id, asked }: TriedRemote): Promise<string | undefined> {
  const run = { request_id, attempt: 1 }
  const again = await call({ run, steps: asked.flatMap(({ done }) => done), said: asked.at(-1)?.said ?? '' })
  const [anew] = again.asked.flatMap(({ steps }) => steps)
  return anew ? `it requested ${named(anew)}` : again.problem
}

/** Simulates a service that died after the first steps, if there were later ones, and calls the agent again. */
async function whyNotInOrder(call: Call, { request_id, asked }: TriedRemote): Promise<string | undefined> {
  const given = asked.length > 1 ? asked.slice(0, 1) : []
  const run = { request_id, attempt: 2 }
  const anew = await call({ run, steps: given.flatMap(({ done }) => done), said: given.at(-1)?.said ?? '' })
  const expected = asked.slice(given.length).flatMap(namesIn)
  const found = anew.asked.flatMap(namesIn)
  if (found.join() === expected.join()) return anew.problem
  return `it requested ${found.join(', ') || 'nothing'} instead of ${expected.join(', ')}`
}

/** The agent may stop in the middle, or end its reply without text. */
function whyNotEnded({ asked, problem, isLate, said }: TriedRemote): string | undefined {
  const [, next] = asked
  if (next) return `it continued and requested ${namesIn(next).join(', ')}`
  if (problem === undefined && said !== '') return 'it answered as if the step had finished'
  return isLate ? problem : undefined
}

/** Sorted, because the order of steps that are done in parallel means nothing. */
function namesIn({ steps }: StepBatch): string[] {
  return steps.map(named).toSorted()
}

function named(step: AskedStep): string {
  return `${step.id} (${callOf(step, 0).name})`
}

function judged(name: keyof typeof POINTS, problem: string | undefined, detail: string | null = null): CheckedPoint {
  const point = POINTS[name]
  return problem === undefined ? { point, status: 'ok', detail } : { point, status: 'failed', detail: problem }
}

function notTried(name: keyof typeof POINTS, detail: string): CheckedPoint {
  return { point: POINTS[name], status: 'not_tried', detail }
}

/** The simulated host's replies. It calls no tool and asks no model and no person. */
function doneBy(answers: ReadonlyMap<string, string>, step: AskedStep): DoneStep {
  const answer = answers.get(step.id)
  const isText = step.type === 'tool' || step.type === 'ask_person'
  if (answer === undefined) return { id: step.id, result: usualResult(step) }
  const value = isText ? undefined : parseIfJson(answer)
  return { id: step.id, result: value === undefined ? answer : value }
}

function usualResult(step: AskedStep): unknown {
  switch (step.type) {
    case 'keep':
      return step.value ?? null
    case 'sleep':
      return null
    case 'ask_person':
      return step.options?.[0] ?? 'yes'
    case 'memory_search':
      return []
    case 'memory_write':
      return { id: 'mem_checked' }
    case 'model':
      return step.output ? {} : 'ok'
    case 'tool':
      return 'ok'
  }
}
