// What the service promises for one operation: the answer, and the world after it.
import { agentOf, asker, createKey, projectName, revokeKey } from './access.ts'
import type { Act } from './act.ts'
import { createAgent, deleteAgent, deploy, pauseAgent, rollBack, updateAgent } from './agents.ts'
import { createBudget, deleteBudget } from './budgets.ts'
import { deleteFile, eraseRun, eraseUser, forget, upload, writeMemory } from './memory.ts'
import { cancel, decide, invoke } from './runs.ts'
import { createSchedule, deleteSchedule } from './schedules.ts'
import { createWebhook, deleteWebhook } from './webhooks.ts'
import { type Answer, type Permission, Refusal, type World } from './world.ts'

/**
 * The answer that was promised, and the world as it is then. The world that is given stays as it was. `or` is another answer
 * that is as good: the reply of a run whose agent was deleted may be there for a while, for an agent that has its name.
 */
export function promised(before: World, act: Act): { answer: Answer; world: World; or?: Answer } {
  const world = structuredClone(before)
  try {
    const answer = onceOnly(world, act)
    const isFading = act.once !== undefined && world.replies[nameOf(world, act)]?.fading
    return { answer, world, ...(isFading && { or: { status: 404, code: 'not_found' } }) }
  } catch (error) {
    if (error instanceof Refusal) return { answer: error.answer, world: before }
    throw error
  }
}

/**
 * "Send an Idempotency-Key. The same request with the same key runs only once within 24 hours." Only 2xx answers are kept; a
 * different request with the key gets 422. Keys of different API keys, and of different projects, are different.
 */
function onceOnly(world: World, act: Act): Answer {
  const { once } = act
  if (once === undefined) return ask(world, act)
  const name = nameOf(world, act)
  const asked = JSON.stringify({ ...act, once: undefined, isInterrupted: undefined })
  const known = world.replies[name]
  if (known) {
    // Whether the key may still do this is checked first.
    reaches(world, act)
    if (known.asked !== asked) throw new Refusal(422, 'idempotency_key_reused')
    if (known.gone) throw new Refusal(404, 'not_found')
    return known.answer
  }
  const answer = ask(world, act)
  const about = act.do === 'invoke' ? act.message : null
  if (answer.status < 300) world.replies[name] = { asked, answer, about }
  return answer
}

const nameOf = (world: World, act: Act) => `${act.by} ${projectName(world, act)} ${act.once}`

function reaches(world: World, act: Act): void {
  asker(world, act, needed(act))
  if ('agent' in act && act.agent !== null && act.do !== 'create agent') agentOf(world, { ...act, agent: act.agent })
}

/** The permission that the operation requires, of those that take an Idempotency-Key. */
function needed({ do: what }: Act): Permission {
  if (what === 'create key' || what === 'create budget') return 'manage'
  if (what === 'decide') return 'approve'
  return what === 'invoke' || what === 'cancel' ? 'invoke' : 'write'
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
    case 'delete webhook':
      return deleteWebhook(world, act)
    case 'upload':
      return upload(world, act)
    case 'delete file':
      return deleteFile(world, act)
    case 'erase user':
      return eraseUser(world, act)
  }
}
