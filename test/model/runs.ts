// docs/invocations.md and docs/agents.md: what an invocation is answered, and what it leaves.
import { agentOf, asker, projectName, projectOf } from './access.ts'
import type { Act, Invoke } from './act.ts'
import { served } from './agents.ts'
import { countRun, hasRoom, spend } from './budgets.ts'
import { announceRun, endRun, messageOf, type RunName } from './run-ends.ts'
import { type Agent, type Answer, type Calls, type Memory, type Plan, Refusal, type Run, type World } from './world.ts'

/** How many tokens the model outside reports for a call. Most runs have their own number, so a mixed-up sum is noticed. */
export function tokensOf(name: string, round: number): { input: number; output: number } {
  const number = Number(messageOf(name).slice(1))
  return { input: 100 * round + (number % 97), output: 5 + round }
}

/** What the model outside says at the end: which version asked it, and what about. */
export function textOfAnswer(persona: string, name: string, result = ''): string {
  return `${persona} on ${messageOf(name)}${result && `: ${result}`}`
}

export function invoke(world: World, act: Invoke, door: Run['door'] = act.how === 'openai' ? 'openai' : 'api'): Answer {
  const agent = agentToInvoke(world, act)
  const project = projectName(world, act)
  if (agent.status === 'paused') throw new Refusal(409, 'agent_paused')
  const { label, version } = served(agent, act.environment)
  const { user, session, message, plan, environment, by } = act
  const at = { project, agent: act.agent, name: newName(agent, message) }
  const turns = session === null || version.history === 0 ? [] : sessionTurns(agent, user, session)
  const run: Run = {
    status: 'waiting',
    plan,
    message,
    response: null,
    version: label,
    user,
    session,
    environment,
    tokens: 0,
    by,
    door,
    answering: version,
    saw: turns.slice(-version.history),
    knew: agent.memories.filter((one) => isShared(one, user, session)).map(({ about }) => about),
  }
  agent.runs[at.name] = run
  world.outside[message] ??= { model: 0, tool: 0, refund: 0 }
  const isRefused = !hasRoom(projectOf(world, act), act.agent, true)
  if (isRefused) {
    run.isOverBudget = true
    endRun(world, at, 'failed', null)
  } else {
    countRun(projectOf(world, act), act.agent)
    converse(world, at, run, act.isInterrupted)
  }
  return act.how === 'background' ? ACCEPTED : replyTo(run, act.how)
}

/** All runs of a schedule have one message, and so do the runs of a request that failed and was sent again. */
function newName({ runs }: Agent, message: string): string {
  const before = Object.keys(runs).filter((name) => messageOf(name) === message).length
  return before === 0 ? message : `${message}.${before + 1}`
}

/** docs/openai.md: to clients of OpenAI an agent is a model. */
export function agentToInvoke(world: World, act: Invoke): Agent {
  try {
    asker(world, act, 'invoke')
    return agentOf(world, act)
  } catch (error) {
    if (act.how !== 'openai' || !(error instanceof Refusal)) throw error
    const { status, code } = error.answer
    throw new Refusal(status, { 401: 'invalid_api_key', 404: 'model_not_found' }[status] ?? code ?? '')
  }
}

const ACCEPTED: Answer = { status: 202, says: { status: 'queued' } }

/** docs/runs.md, of a call that a crash has interrupted: "The model learns that the outcome is unknown". */
const UNKNOWN = 'unknown'

/** What a client is told that waits for the run, or asks for it again with its Idempotency-Key. */
export function replyTo(run: Run, how: Invoke['how']): Answer {
  if (run.status === 'completed') return { status: 200, says: { response: run.response, tokens: run.tokens } }
  if (run.status === 'cancelled') return { status: 409, code: 'conflict' }
  // docs/budgets.md: "OpenAI clients | 429 `insufficient_quota`".
  if (run.isOverBudget) return { status: 429, code: how === 'openai' ? 'insufficient_quota' : 'budget_exceeded' }
  if (run.status === 'failed') return { status: 500, code: 'server_error' }
  // docs/approvals.md: "A chat completion fails with 400 `run_waits`".
  return how === 'openai' ? { status: 400, code: 'run_waits' } : { status: 202, says: { status: 'waiting' } }
}

/** Everything that a run does without a person. */
function converse(world: World, at: RunName, run: Run, isInterrupted = false) {
  const { plan } = run
  if (plan === 'refuse') {
    callsOf(world, at).model += 1
    // docs/usage.md: "A call that the provider refused has none."
    spend(world, at, { calls: 1, input: 0, output: 0 })
    return endRun(world, at, 'failed', null)
  }
  callModel(world, at, run, 1)
  if (plan === 'answer') return complete(world, at, run)
  if (plan === 'tool') {
    callsOf(world, at).tool += 1
    callModel(world, at, run, 2)
    return complete(world, at, run, isInterrupted ? UNKNOWN : 'looked')
  }
  // docs/approvals.md: the run waits until a person has decided.
  announceRun(world, at, 'agent.waiting')
}

function complete(world: World, at: RunName, run: Run, result?: string): void {
  endRun(world, at, 'completed', textOfAnswer(run.answering.persona, at.name, result))
}

function callModel(world: World, at: RunName, run: Run, round: number) {
  const { input, output } = tokensOf(at.name, round)
  callsOf(world, at).model += 1
  run.tokens += input + output
  spend(world, at, { calls: 1, input, output })
}

const callsOf = (world: World, { name }: RunName): Calls => world.outside[messageOf(name)] as Calls

/** docs/sessions.md: "A run's exchange becomes part of the session when the run ends." The oldest turn comes first. */
function sessionTurns(agent: Agent, user: string | null, session: string): string[] {
  return agent.memories
    .filter((one) => one.kind === 'turn' && one.user === user && one.session === session)
    .map(({ role, about }) => `${role} ${about}`)
}

/** "Users never see each other's memories." A session without a user is separate, and sees nothing else. */
function isShared(memory: Memory, user: string | null, session: string | null): boolean {
  if (user !== null) return memory.user === user
  return session !== null && memory.user === null && memory.session === session
}

/** Who created the key, who created that key, and so on, with the key itself. */
function makersOf(world: World, key: string | null): string[] {
  return key === null ? [] : [key, ...makersOf(world, world.keys[key]?.createdBy ?? null)]
}

/**
 * "Each approval is decided once; later requests get 409." Before that, 403 for the key that started the run, for keys that
 * this key created, and for those who created it, directly or through other keys.
 */
export function decide(world: World, act: Extract<Act, { do: 'decide' }>): Answer {
  asker(world, act, 'approve')
  const agent = agentOf(world, act)
  const run = agent.runs[act.message]
  const hasAsked = run?.plan === 'ask' && (world.outside[act.message]?.model ?? 0) > 0
  if (!run || !hasAsked) throw new Refusal(404, 'not_found')
  const isOwn = makersOf(world, act.by).includes(run.by) || makersOf(world, run.by).includes(act.by)
  if (isOwn) throw new Refusal(403, 'forbidden')
  if (run.status !== 'waiting') throw new Refusal(409, 'conflict')
  const at = { project: projectName(world, act), agent: act.agent, name: act.message }
  const isApproved = act.decision === 'approve'
  if (isApproved) callsOf(world, at).refund += 1
  if (hasRoom(projectOf(world, act), act.agent, false)) {
    callModel(world, at, run, 2)
    complete(world, at, run, isApproved ? (act.isInterrupted ? UNKNOWN : 'refunded') : 'rejected')
  } else {
    run.isOverBudget = true
    endRun(world, at, 'failed', null)
  }
  return { status: 200, says: { status: isApproved ? 'approved' : 'rejected' } }
}

/** "If the run was already cancelled, you get 200 and the receipt. If it has completed or failed, you get 409." */
export function cancel(world: World, act: Extract<Act, { message: string; agent: string }>): Answer {
  const key = world.keys[act.by]
  asker(world, act, key?.permissions.includes('write') ? 'write' : 'invoke')
  const run = agentOf(world, act).runs[act.message]
  const isOthers = run && !key?.permissions.includes('write') && run.by !== act.by
  if (!run || isOthers) throw new Refusal(404, 'not_found')
  if (run.status === 'completed' || run.status === 'failed') throw new Refusal(409, 'conflict')
  if (run.status === 'waiting') {
    endRun(world, { project: projectName(world, act), agent: act.agent, name: act.message }, 'cancelled', null)
  }
  return { status: 200, says: { status: 'cancelled' } }
}

export const PLANS: readonly Plan[] = ['answer', 'refuse', 'tool', 'ask']
