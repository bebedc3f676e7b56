// The worlds in which a service can be, after what its clients were told.
import { isDeepStrictEqual } from 'node:util'
import type { Act, Invoke } from '../model/act.ts'
import { askedBy, isPost, promised } from '../model/promise.ts'
import { endRun } from '../model/run-ends.ts'
import type { Answer, World } from '../model/world.ts'

/** More possible worlds than this mean that too much has happened at once. */
const MOST_WORLDS = 400

/** What was answered to acts that were sent at the same time. Undefined: no answer came. */
export type Told = (Answer | undefined)[]

/** What was interrupted was asked for again, and is done now. */
export const DONE: Answer = { status: 0 }

/** The service has not come to the end of what it did, or does not know whether it has. */
export const isCut = (fault: string | undefined): boolean =>
  fault === 'kill' || fault === 'lose a commit' || fault === 'stand still'

/** It can be asked for again without a key: what is gone is gone. */
export const isRepeatable = (act: Act): boolean => !isPost(act) && act.do !== 'list'

/** Every world in which these answers could have been given, in any order of what was asked at the same time. */
export function follow(worlds: World[], acts: Act[], told: Told, fault: string | undefined): World[] {
  const possible = worlds.flatMap((world) =>
    orders(acts.map((act, i) => ({ act, answer: told[i] }))).flatMap((order) => {
      let reached = [world]
      for (const { act, answer } of order) reached = reached.flatMap((one) => reachedBy(one, act, answer, fault, acts))
      return reached
    }),
  )
  const different = new Map(possible.map((world) => [JSON.stringify(world), world]))
  if (different.size > MOST_WORLDS) throw new Error(`${different.size} possible worlds are too many`)
  return [...different.values()]
}

/** A client that asks again after a fault doesn't know whether its first request was answered. */
function isSame(due: Answer | undefined, answer: Answer, fault: string | undefined): boolean {
  const told = (one: Answer | undefined) => (fault && one ? { ...one, isReplayed: undefined } : one)
  return isDeepStrictEqual(told(due), told(answer))
}

function orders<T>(things: T[]): T[][] {
  if (things.length < 2) return [things]
  return things.flatMap((first, i) => orders(things.toSpliced(i, 1)).map((rest) => [first, ...rest]))
}

function reachedBy(
  world: World,
  act: Act,
  answer: Answer | undefined,
  fault: string | undefined,
  together: readonly Act[],
): World[] {
  if (answer === DONE) return [promised(world, act).world]
  if (isCut(fault)) return reachedAfterCut(world, act, answer, fault)
  const { answer: due, or, world: after } = promised(world, act)
  if (answer !== undefined) {
    const told = [due, or].some((one) => isSame(one, answer, fault)) ? [after] : []
    if (act.do === 'erase user') return told.length > 0 ? told : unfinished(world, act, answer, together)
    if (act.do !== 'invoke' || !together.some((other) => stops(other, act))) return told
    // It may have been stopped while it ran.
    return answer.status === 409 || answer.status === 202 ? [...told, cancelled(world, act)] : told
  }
  // No answer came: it was done, or it was not.
  if (act.do !== 'invoke') return [world, after]
  if (fault !== 'hang up') {
    // docs/runs.md: a run with a key "resumes after its last step". If its end was not stored, its model is asked again.
    const resumed = fault?.endsWith('ends') ? notStored(after, act) : after
    return [notStored(world, act), resumed, ...brokenOff(world, act)]
  }
  if (act.once !== undefined) return [after]
  return due.status === 200 ? [cancelled(world, act)] : [after]
}

/**
 * docs/runs.md: background runs and those with a key resume after their last step. Any other run "is marked failed". What
 * was answered is on disk.
 */
function reachedAfterCut(world: World, act: Act, answer: Answer | undefined, fault: string | undefined): World[] {
  const isRun = act.do === 'invoke' || act.do === 'decide'
  const survives = act.once !== undefined || act.do === 'decide' || (act.do === 'invoke' && act.how === 'background')
  const ways = isRun && (survives || !answer) ? [act, { ...act, isInterrupted: true } as const] : [act]
  const reached = ways.flatMap((way) => {
    const { answer: due, or, world: after } = promised(world, way)
    if (answer && ![due, or].some((one) => isSame(one, answer, fault))) return []
    if (!isRun || (answer && !survives)) return [after]
    return [{ ...after, unsure: [...after.unsure, act.message] }]
  })
  if (answer) return reached
  if (act.do !== 'invoke') return [world, ...reached]
  const nothing = notStored(world, act)
  const ended = fault === 'kill' ? [endedOtherwise(world, act, 'failed')] : brokenOff(world, act)
  const failed = survives ? [] : ended
  // It may have counted in budgets, or not.
  const counted = [countedAs(nothing, reached[0]), ...failed.map((one) => countedAs(one, world))]
  return [...reached, nothing, ...failed, ...counted]
}

/** The same world, in which budgets are used as much as in another one. */
function countedAs(world: World, other: World | undefined): World {
  const counted = structuredClone(world)
  for (const [name, { budgets }] of Object.entries(counted.projects)) {
    for (const [budget, it] of Object.entries(budgets)) {
      it.used = other?.projects[name]?.budgets[budget]?.used ?? it.used
    }
  }
  return counted
}

function stops(other: Act, run: Invoke): boolean {
  if (!('agent' in other) || other.agent !== run.agent) return false
  return other.do === 'pause agent' || other.do === 'delete agent' || other.do === 'cancel'
}

/** The client's run was cancelled while its model had been asked. */
function cancelled(world: World, act: Invoke): World {
  return endedOtherwise(world, act, 'cancelled')
}

/** A run that was cut off has failed or was cancelled. Then nobody knows what its calls have used. */
function brokenOff(world: World, act: Invoke): World[] {
  return [endedOtherwise(world, act, 'failed'), endedOtherwise(world, act, 'cancelled')]
}

/** docs/internals/runs.md: "Nothing is stored, and nothing has left the service except the model call." */
function notStored(world: World, act: Invoke): World {
  return { ...world, unsure: [...world.unsure, act.message] }
}

function endedOtherwise(world: World, act: Invoke, status: 'failed' | 'cancelled'): World {
  // The same run with a model that refuses to answer leaves a receipt and no memories.
  const { world: after } = promised(world, { ...act, plan: 'refuse' })
  // What was kept for its key is the answer to the request as it was.
  for (const reply of Object.values(after.replies)) if (reply.run?.name === act.message) reply.asked = askedBy(act)
  const project = world.keys[act.by]?.project ?? act.project
  const run = after.projects[project]?.agents[act.agent]?.runs[act.message]
  if (!run) return after
  after.deliveries = after.deliveries.filter(({ about }) => about !== act.message)
  endRun(after, { project, agent: act.agent, name: act.message }, status, null)
  run.isCutOff = true
  after.unsure.push(act.message)
  run.plan = act.plan
  return after
}

/**
 * "Active runs aren't stopped. `unfinished` shows how many there are": runs of the user that began at the same time keep
 * their receipts. They end before their memories are erased, or after that.
 */
function unfinished(
  world: World,
  act: Extract<Act, { do: 'erase user' }>,
  answer: Answer,
  together: readonly Act[],
): World[] {
  const runs = together.filter((other) => other.do === 'invoke' && other.user === act.user) as Invoke[]
  const { answer: due, world: after } = promised(world, act)
  const count = (told: Answer) => (told.says as { unfinished: number } | undefined)?.unfinished ?? -1
  if (answer.status !== 200 || due.status !== 200) return []
  if (count(answer) <= count(due) || count(answer) > count(due) + runs.length) return []
  const [forgotten, remembered] = [structuredClone(after), structuredClone(after)]
  for (const run of runs) {
    const project = world.keys[run.by]?.project ?? run.project
    const before = world.projects[project]?.agents[run.agent]
    const receipt = before?.runs[run.message]
    if (!before || !receipt) continue
    for (const left of [forgotten, remembered]) {
      const agent = left.projects[project]?.agents[run.agent]
      if (agent) agent.runs[run.message] = receipt
      for (const [name, reply] of Object.entries(world.replies))
        if (reply.run?.name === run.message) left.replies[name] = reply
    }
    const memories = before.memories.filter(({ about }) => about === run.message)
    remembered.projects[project]?.agents[run.agent]?.memories.push(...memories)
  }
  return [forgotten, remembered]
}
