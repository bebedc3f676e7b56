// docs/invocations.md and docs/agents.md: what an invocation is answered, and what it leaves.
import { agentOf, asker, projectName, projectOf } from './access.ts'
import type { Act, Invoke } from './act.ts'
import { served } from './agents.ts'
import { refusing, spend, startsRun } from './budgets.ts'
import { endRun, type RunName, takesPart } from './run-ends.ts'
import { type Agent, type Answer, type Calls, type Memory, type Plan, Refusal, type Run, type World } from './world.ts'

/** How many tokens the model outside reports for a call: each run has its own number, so a mixed-up sum is noticed. */
export function tokensOf(message: string, round: number): { input: number; output: number } {
  const number = Number(saidIn(message).slice(1))
  return { input: 100 * round + (number % 97), output: 5 + round }
}

/** The message of a run. Runs of a schedule have the same, and a number. */
export const saidIn = (name: string) => name.replace(/\..*$/, '')

/** What the model outside says at the end: which version asked it, and what about. */
export function saying(persona: string, message: string, result = ''): string {
  return `${persona} on ${saidIn(message)}${result && `: ${result}`}`
}

export function invoke(world: World, act: Invoke): Answer {
  const agent = invoked(world, act)
  const project = projectName(world, act)
  if (agent.status === 'paused') throw new Refusal(409, 'agent_paused')
  const { label, version } = served(agent, act.environment)
  const { user, session, message, plan, environment } = act
  const saw = session === null ? [] : sessionTurns(agent, user, session).slice(-version.history)
  const asked = {
    message: saidIn(message),
    plan,
    user,
    session,
    environment,
    saw: version.history > 0 ? saw : [],
    by: act.by,
  }
  const knew = agent.memories.filter((one) => isShared(one, user, session)).map(({ about }) => about)
  const door = act.how === 'openai' ? 'openai' : 'api'
  const run: Run = {
    ...asked,
    status: 'waiting',
    response: null,
    version: label,
    tokens: 0,
    door,
    answering: version,
    knew,
  }
  agent.runs[message] = run
  world.outside[saidIn(message)] ??= { model: 0, tool: 0, refund: 0 }
  const name = { project, agent: act.agent, message }
  const full = refusing(projectOf(world, act), act.agent)
  if (full) {
    endRun(world, name, 'failed', null)
    // docs/budgets.md: "OpenAI clients: 429 insufficient_quota".
    const code = act.how === 'openai' ? 'insufficient_quota' : 'budget_exceeded'
    return act.how === 'background' ? accepted() : { status: 429, code }
  }
  startsRun(projectOf(world, act), act.agent)
  first(world, name, run, act.isInterrupted)
  return act.how === 'background' ? accepted() : replyOf(run, act)
}

/** docs/openai.md: to clients of OpenAI an agent is a model. */
function invoked(world: World, act: Invoke): Agent {
  try {
    asker(world, act, 'invoke')
    return agentOf(world, act)
  } catch (error) {
    if (act.how !== 'openai' || !(error instanceof Refusal)) throw error
    const { status, code } = error.answer
    throw new Refusal(status, { 401: 'invalid_api_key', 404: 'model_not_found' }[status] ?? code ?? '')
  }
}

const accepted = (): Answer => ({ status: 202, says: { status: 'queued' } })

/** docs/runs.md, of a call that a crash has interrupted: "The model learns that the outcome is unknown". */
const UNKNOWN = 'unknown'

/** What a client is told that waits for the run. */
function replyOf(run: Run, act: Invoke): Answer {
  if (run.status === 'completed') return { status: 200, says: { response: run.response, tokens: run.tokens } }
  if (run.status === 'failed') return { status: 500, code: 'server_error' }
  // "A chat completion fails with 400."
  return act.how === 'openai' ? { status: 400, code: 'run_waits' } : { status: 202, says: { status: 'waiting' } }
}

/** The first call of the model, and what follows from it without a person. */
function first(world: World, name: RunName, run: Run, isInterrupted = false) {
  const { plan } = run
  if (plan === 'refuse') {
    calls(world, name).model += 1
    // A refused request was not answered: it costs nothing, and is listed as a call.
    spend(world, name, run, { calls: 1, input: 0, output: 0 })
    return endRun(world, name, 'failed', null)
  }
  callModel(world, name, run, 1)
  if (plan === 'answer') return endRun(world, name, 'completed', saying(run.answering.persona, name.message))
  if (plan === 'tool') {
    calls(world, name).tool += 1
    callModel(world, name, run, 2)
    return endRun(
      world,
      name,
      'completed',
      saying(run.answering.persona, name.message, isInterrupted ? UNKNOWN : 'looked'),
    )
  }
  // docs/approvals.md: the run waits until a person has decided.
  takesPart(world, name, 'agent.waiting')
}

function callModel(world: World, name: RunName, run: Run, round: number) {
  const { input, output } = tokensOf(name.message, round)
  calls(world, name).model += 1
  run.tokens += input + output
  spend(world, name, run, { calls: 1, input, output })
}

const calls = (world: World, { message }: RunName): Calls => world.outside[saidIn(message)] as Calls

/** The turns that the session has, the oldest first: "The session's latest turns". */
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
 * "Each approval is decided once; later requests get 409." Neither the key that started the run decides, nor a key that it
 * created, nor "those who created the starter's key, directly or through other keys".
 */
export function decide(world: World, act: Extract<Act, { do: 'decide' }>): Answer {
  asker(world, act, 'approve')
  const agent = agentOf(world, act)
  const run = agent.runs[act.message]
  if (run?.plan !== 'ask' || !world.outside[act.message]?.model) throw new Refusal(404, 'not_found')
  const isOne = makersOf(world, act.by).includes(run.by) || makersOf(world, run.by).includes(act.by)
  if (isOne) throw new Refusal(403, 'forbidden')
  if (run.status !== 'waiting') throw new Refusal(409, 'conflict')
  const name = { project: projectName(world, act), agent: act.agent, message: act.message }
  const isApproved = act.decision === 'approve'
  if (isApproved) calls(world, name).refund += 1
  callModel(world, name, run, 2)
  const result = isApproved ? (act.isInterrupted ? UNKNOWN : 'refunded') : 'rejected'
  endRun(world, name, 'completed', saying(run.answering.persona, act.message, result))
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
    endRun(world, { project: projectName(world, act), agent: act.agent, message: act.message }, 'cancelled', null)
  }
  return { status: 200, says: { status: 'cancelled' } }
}

export const PLANS: readonly Plan[] = ['answer', 'refuse', 'tool', 'ask']
