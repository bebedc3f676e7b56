// docs/agents.md: drafts, versions and environments.
import { agentOf, asker, projectName, projectOf, wholeProject } from './access.ts'
import type { Act } from './act.ts'
import { endRun } from './run-ends.ts'
import { announce } from './webhooks.ts'
import { type Agent, type Deployment, Refusal, type Version, type World } from './world.ts'

export function createAgent(world: World, act: Extract<Act, { do: 'create agent' }>) {
  const key = asker(world, act, 'write')
  wholeProject(key)
  const { agents } = projectOf(world, act)
  if (agents[act.agent]) throw new Refusal(409, 'conflict')
  const { persona, remember, history } = act
  const nothing = { versions: {}, deployments: {}, runs: {}, memories: [], schedules: {} }
  agents[act.agent] = { persona, remember, history, status: 'running', ...nothing }
  return { status: 201, says: { name: act.agent, status: 'running' } }
}

/** Changes the draft. What is deployed stays as it is. */
export function updateAgent(world: World, act: Extract<Act, { do: 'update agent' }>) {
  asker(world, act, 'write')
  agentOf(world, act).persona = act.persona
  return { status: 200, says: { name: act.agent } }
}

/** docs/invocations.md: "To cancel all of an agent's runs and refuse new messages, pause the agent". */
export function pauseAgent(world: World, act: Extract<Act, { agent: string }> & { do: string }) {
  asker(world, act, 'write')
  const agent = agentOf(world, act)
  const status = act.do === 'pause agent' ? 'paused' : 'running'
  agent.status = status
  if (status === 'paused') cancelRuns(world, act, agent)
  else resumeSchedules(world, agent)
  return { status: 200, says: { name: act.agent, status } }
}

function cancelRuns(world: World, act: { by: string; project: string; agent: string }, agent: Agent) {
  for (const [name, run] of Object.entries(agent.runs)) {
    if (run.status !== 'waiting') continue
    endRun(world, { project: projectName(world, act), agent: act.agent, name }, 'cancelled', null)
  }
}

/** docs/schedules.md: "When the agent is resumed, the times that passed are added to `missed`". */
function resumeSchedules(world: World, { schedules }: Agent): void {
  for (const schedule of Object.values(schedules)) {
    const key = world.keys[schedule.by]
    if (schedule.passed > 0 && (!key || key.revoked)) schedule.enabled = false
    else schedule.missed += schedule.passed
    schedule.passed = 0
  }
}

/**
 * docs/api.md: "Cancels the active runs of the agent, and sends the event `agent.cancelled` for each of them." What is limited
 * to the agent goes with it: keys, webhooks and budgets. Stored replies about its runs go with them, a little later.
 */
export function deleteAgent(world: World, act: Extract<Act, { agent: string }> & { do: string }) {
  asker(world, act, 'delete')
  const agent = agentOf(world, act)
  const inProject = projectName(world, act)
  const project = projectOf(world, act)
  for (const reply of Object.values(world.replies)) {
    const isHere = reply.run?.project === inProject && reply.run.agent === act.agent
    const run = isHere && agent.runs[reply.run?.name ?? '']
    if (!run) continue
    if (run.status === 'waiting') reply.isErased = true
    else reply.isFading = true
  }
  cancelRuns(world, act, agent)
  delete project.agents[act.agent]
  for (const things of [project.budgets, project.webhooks]) {
    for (const [name, thing] of Object.entries(things)) if (thing.agent === act.agent) delete things[name]
  }
  for (const delivery of world.deliveries) {
    if (delivery.project === inProject) delivery.certain &&= project.webhooks[delivery.url] !== undefined
  }
  for (const [name, key] of Object.entries(world.keys)) {
    if (key.agent === act.agent && key.project === inProject) delete world.keys[name]
  }
  return { status: 200, says: { deleted: true } }
}

/** What an environment serves: the version that is active there or, until the first deployment, the draft. */
export function served(agent: Agent, environment: string): { label: string | null; version: Version } {
  const active = agent.deployments[environment]?.find(({ status }) => status === 'active')
  if (!active) return { label: null, version: draftOf(agent) }
  return { label: active.version, version: agent.versions[active.version] as Version }
}

const draftOf = ({ persona, remember, history }: Agent): Version => ({ persona, remember, history })

/** "A version never changes: if the label exists, its snapshot is deployed again." */
export function deploy(world: World, act: Extract<Act, { do: 'deploy' }>) {
  asker(world, act, 'write')
  const agent = agentOf(world, act)
  agent.versions[act.version] ??= draftOf(agent)
  activate(agent, act.environment, act.version, 'superseded')
  announce(world, { ...act, project: projectName(world, act) }, 'deployment.created', act.version)
  return { status: 201, says: { version: act.version, environment: act.environment, status: 'active' } }
}

function activate(agent: Agent, environment: string, version: string, before: Deployment['status']) {
  const all = (agent.deployments[environment] ??= [])
  const replaced = all.find(({ status }) => status === 'active')
  if (replaced) replaced.status = before
  all.push({ version, status: 'active' })
}

/**
 * "With the ID of the active deployment, the environment returns to the version it served before. Versions that were rolled
 * back since are skipped, even where an earlier deployment served them, so rolling back again goes further back."
 */
export function rollBack(world: World, act: Extract<Act, { do: 'roll back' }>) {
  asker(world, act, 'write')
  const agent = agentOf(world, act)
  const all = agent.deployments[act.environment] ?? []
  const active = all.find(({ status }) => status === 'active')
  if (!active) throw new Refusal(404, 'not_found')
  const bad = new Set([active.version])
  const before = all.toReversed().find((one) => {
    if (one.status === 'rolled_back') bad.add(one.version)
    return !bad.has(one.version)
  })
  if (!before) throw new Refusal(409, 'conflict')
  activate(agent, act.environment, before.version, 'rolled_back')
  announce(world, { ...act, project: projectName(world, act) }, 'deployment.rolled_back', before.version)
  return { status: 200, says: { version: before.version, environment: act.environment, status: 'active' } }
}
