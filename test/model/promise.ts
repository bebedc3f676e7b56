// What the service promises for one operation: the answer, and the world after it.
import { isDeepStrictEqual } from 'node:util'
import { agentOf, asker, createKey, projectName, projectOf, revokeKey } from './access.ts'
import type { Act, Invoke } from './act.ts'
import { createAgent, deleteAgent, deploy, pauseAgent, rollBack, updateAgent } from './agents.ts'
import { createBudget, deleteBudget } from './budgets.ts'
import { list } from './lists.ts'
import { deleteFile, eraseRun, eraseUser, forget, upload, writeMemory } from './memory.ts'
import { messageOf } from './run-ends.ts'
import { agentToInvoke, cancel, decide, invoke, replyTo } from './runs.ts'
import { createSchedule, deleteSchedule } from './schedules.ts'
import { createWebhook, deleteWebhook, setWebhook } from './webhooks.ts'
import { type Answer, type Permission, Refusal, type Run, type World } from './world.ts'

/**
 * The answer that was promised, and the world as it is then. The world that is given stays as it was. `or` is another answer
 * that is as good: the reply of a run whose agent was deleted may be there for a while, for an agent that has its name.
 */
export function promised(before: World, act: Act): { answer: Answer; world: World; or?: Answer } {
  const world = structuredClone(before)
  try {
    const answer = onceOnly(world, act)
    const isFading = takesKey(act) && world.replies[replyName(world, act)]?.isFading
    return { answer, world, ...(isFading && { or: { status: 404, code: 'not_found' } }) }
  } catch (error) {
    if (error instanceof Refusal) return { answer: error.answer, world: before }
    throw error
  }
}

export const DAY_MS = 24 * 3_600_000

/** docs/api.md: "Send `Idempotency-Key` with POST and PATCH." Other requests ignore it. */
export const isPost = ({ do: what }: Act): boolean => !/^(delete|revoke|forget|erase|list)/.test(what)

const takesKey = (act: Act): boolean => act.once !== undefined && isPost(act)

/** docs/invocations.md, "Retry safely": "The same request with the same key runs only once within 24 hours". */
function onceOnly(world: World, act: Act): Answer {
  if (!takesKey(act)) return ask(world, act)
  const name = replyName(world, act)
  const known = world.replies[name]
  if (known && world.time < known.at + DAY_MS) {
    // Whether the key may still do this is checked first.
    requireAccess(world, act)
    if (known.asked !== askedBy(act)) throw new Refusal(422, 'idempotency_key_reused')
    if (known.isErased) throw new Refusal(404, 'not_found')
    return known.isWaiting ? stateOf(world, act, known) : { ...known.answer, isReplayed: true }
  }
  delete world.replies[name]
  const answer = ask(world, act)
  const isWaiting = answer.code === 'run_waits' || isDeepStrictEqual(answer.says, { status: 'waiting' })
  // "Only 2xx answers are kept." A chat completion tells that its run waits with an error.
  if (answer.status >= 300 && !isWaiting) return answer
  const [project, agent] = [projectName(world, act), 'agent' in act ? act.agent : null]
  const run = runOf(world, act)
  // The bodies of these replies contain the user.
  const user = act.do === 'write memory' || act.do === 'upload' ? act.user : null
  const place = { project, agent }
  world.replies[name] = { asked: askedBy(act), at: world.time, answer, run, user, place, isWaiting }
  return answer
}

/** "Each API key, person and user token has its own keys, and so does each project." */
const replyName = (world: World, act: Act) => `${act.by} ${projectName(world, act)} ${act.once}`

/** "Two requests are the same if their method, path, query and body are": how the answer is sent says a header. */
export function askedBy(act: Act): string {
  const how = 'how' in act && { how: act.how === 'openai' ? 'openai' : 'api' }
  return JSON.stringify({ ...act, ...how, once: undefined, isInterrupted: undefined })
}

/** "A retry gets the run's current state: 202 while it waits, then its answer", or its error. */
function stateOf(world: World, act: Act, { run: at }: World['replies'][string]): Answer {
  const run = world.projects[at?.project ?? '']?.agents[at?.agent ?? '']?.runs[at?.name ?? ''] as Run
  const { how } = act as Invoke
  const answer = replyTo(run, how)
  // A stream is the one of the run itself.
  const isTold = how !== 'stream' && (answer.status < 300 || answer.code === 'run_waits')
  return isTold ? { ...answer, isReplayed: true } : answer
}

/** The run that the act is about, or has begun. */
function runOf(world: World, act: Act): World['replies'][string]['run'] {
  if (!('message' in act) || !('agent' in act) || act.do === 'create schedule') return null
  const { agent, message } = act
  const names = Object.keys(projectOf(world, act).agents[agent]?.runs ?? {})
  const name = act.do === 'invoke' ? names.findLast((one) => messageOf(one) === message) : message
  return { project: projectName(world, act), agent, name: name ?? message }
}

function requireAccess(world: World, act: Act): void {
  if (act.do === 'invoke') return void agentToInvoke(world, act)
  asker(world, act, needed(act))
  // An agent that only the body names may be gone.
  const isInPath = 'agent' in act && act.agent !== null && !/^create (agent|key|budget|webhook)$/.test(act.do)
  if (isInPath) agentOf(world, { ...act, agent: act.agent as string })
}

/** The permission that the operation requires, of those that take an Idempotency-Key. */
function needed({ do: what }: Act): Permission {
  if (what === 'create key' || what === 'create budget') return 'manage'
  if (what === 'decide') return 'approve'
  return what === 'upload' || what === 'cancel' ? 'invoke' : 'write'
}

function ask(world: World, act: Act): Answer {
  switch (act.do) {
    case 'create agent':
      return createAgent(world, act)
    case 'update agent':
      return updateAgent(world, act)
    case 'pause agent':
    case 'resume agent':
      return pauseAgent(world, act)
    case 'delete agent':
      return deleteAgent(world, act)
    case 'deploy':
      return deploy(world, act)
    case 'roll back':
      return rollBack(world, act)
    case 'create key':
      return createKey(world, act)
    case 'revoke key':
      return revokeKey(world, act)
    case 'invoke':
      return invoke(world, act)
    case 'cancel':
      return cancel(world, act)
    case 'decide':
      return decide(world, act)
    case 'erase run':
      return eraseRun(world, act)
    case 'write memory':
      return writeMemory(world, act)
    case 'forget':
      return forget(world, act)
    case 'create schedule':
      return createSchedule(world, act)
    case 'delete schedule':
      return deleteSchedule(world, act)
    case 'create budget':
      return createBudget(world, act)
    case 'delete budget':
      return deleteBudget(world, act)
    case 'create webhook':
      return createWebhook(world, act)
    case 'enable webhook':
    case 'disable webhook':
      return setWebhook(world, act)
    case 'delete webhook':
      return deleteWebhook(world, act)
    case 'upload':
      return upload(world, act)
    case 'delete file':
      return deleteFile(world, act)
    case 'erase user':
      return eraseUser(world, act)
    case 'list':
      return list(world, act)
  }
}
