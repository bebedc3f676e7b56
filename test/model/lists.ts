// docs/team.md and docs/api.md: what each key sees.
import { agentOf, asker, may, projectName, projectOf } from './access.ts'
import type { Act } from './act.ts'
import { messageOf } from './run-ends.ts'
import type { Key, World } from './world.ts'

type List = Extract<Act, { do: 'list' }>

/** The names of what a list contains. */
export function list(world: World, act: List) {
  return { status: 200, says: { names: listed(world, act).toSorted() } }
}

function listed(world: World, act: List): string[] {
  const { agents, budgets, webhooks, files } = projectOf(world, act)
  if (act.what === 'invocations') {
    const { isOwnOnly } = reader(world, act)
    const runs = Object.entries(agentOf(world, act).runs).filter(([, { by }]) => !isOwnOnly || by === act.by)
    return runs.map(([name, { message }]) => (message === null ? 'erased' : messageOf(name)))
  }
  if (act.what === 'approvals') {
    const { key, isOwnOnly } = reader(world, act)
    const seen = Object.entries(agents).filter(([name]) => key.agent === null || key.agent === name)
    const runs = seen.flatMap(([, agent]) => Object.entries(agent.runs))
    const waiting = runs.filter(([, { status, by }]) => status === 'waiting' && (!isOwnOnly || by === act.by))
    return waiting.map(([name]) => messageOf(name))
  }
  if (act.what === 'files') {
    // docs/files.md: callers, and keys limited to one agent, see the files that they uploaded themselves.
    const { key, isOwnOnly } = reader(world, act)
    return Object.keys(files).filter((name) => !(isOwnOnly || key.agent !== null) || files[name]?.by === act.by)
  }
  if (act.what === 'agents') {
    const { agent } = asker(world, act, 'read')
    return Object.keys(agents).filter((name) => agent === null || agent === name)
  }
  const key = asker(world, act, act.what === 'webhooks' ? 'read' : 'manage')
  const isSeen = ({ agent }: { agent: string | null }) => key.agent === null || key.agent === agent
  const project = projectName(world, act)
  const keys = Object.entries(world.keys).filter(([, one]) => one.project === project && !one.revoked)
  const things = { webhooks, budgets, keys: Object.fromEntries(keys) }[act.what]
  return Object.entries(things).flatMap(([name, thing]) => (isSeen(thing) ? [name] : []))
}

/** docs/api.md: "With only the permission `invoke`, the list contains the invocations that the key started itself." */
function reader(world: World, act: List): { key: Key; isOwnOnly: boolean } {
  const known = world.keys[act.by]
  const isOwnOnly = known !== undefined && !may(known, 'read')
  return { key: asker(world, act, isOwnOnly ? 'invoke' : 'read'), isOwnOnly }
}
