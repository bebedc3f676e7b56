// docs/team.md and docs/projects.md: who can do what.
import type { Act, Role } from './act.ts'
import { type Agent, type Key, type Permission, type Project, Refusal, type World } from './world.ts'

const ROLES: Record<Role, Permission[]> = {
  admin: ['read', 'write', 'delete', 'manage', 'approve'],
  developer: ['read', 'write'],
  viewer: ['read'],
  caller: ['invoke'],
  approver: ['read', 'approve'],
  deleter: ['delete'],
  manager: ['manage'],
}

/** The key that asks, if it exists, is not revoked, and has the permission. */
export function asker(world: World, act: Pick<Act, 'by'>, needs: Permission): Key {
  const key = world.keys[act.by]
  if (!key || key.revoked) throw new Refusal(401, 'unauthorized')
  if (!may(key, needs)) throw new Refusal(403, 'forbidden')
  return key
}

/** "`write` includes `invoke`." */
export function may(key: Key, needs: Permission): boolean {
  return key.permissions.includes(needs) || (needs === 'invoke' && key.permissions.includes('write'))
}

/** A key of one project works in that project. Only a key of all projects chooses the project of a request. */
export function projectName(world: World, act: Pick<Act, 'by' | 'project'>): string {
  return world.keys[act.by]?.project ?? act.project
}

export function projectOf(world: World, act: Pick<Act, 'by' | 'project'>): Project {
  return world.projects[projectName(world, act)] as Project
}

/** Agents of other projects don't exist for a key. A key that is limited to one agent is refused all others. */
export function agentOf(world: World, act: Pick<Act, 'by' | 'project'> & { agent: string }): Agent {
  const limitedTo = world.keys[act.by]?.agent ?? null
  if (limitedTo !== null && limitedTo !== act.agent) throw new Refusal(403, 'forbidden')
  const agent = projectOf(world, act).agents[act.agent]
  if (!agent) throw new Refusal(404, 'not_found')
  return agent
}

/** An agent that the body names: a missing one is a mistake in the body. */
export function agentNamed(world: World, act: Pick<Act, 'by' | 'project'>, agent: string): void {
  const limitedTo = world.keys[act.by]?.agent ?? null
  if (limitedTo !== null && limitedTo !== agent) throw new Refusal(403, 'forbidden')
  if (!projectOf(world, act).agents[agent]) throw new Refusal(400, 'invalid_request')
}

/** What concerns a whole project is refused to keys that are limited to one agent. */
export function wholeProject(key: Key): void {
  if (key.agent !== null) throw new Refusal(403, 'forbidden')
}

/** docs/team.md: what isn't the agent's own returns 403 to a key limited to that agent, "whether it exists or not". */
export function requireOwn(key: Key, thing: { agent: string | null } | undefined): void {
  if (key.agent !== null && key.agent !== thing?.agent) throw new Refusal(403, 'forbidden')
}

export function createKey(world: World, act: Extract<Act, { do: 'create key' }>) {
  const maker = asker(world, act, 'manage')
  if (act.agent === null) wholeProject(maker)
  else agentNamed(world, act, act.agent)
  const permissions = ROLES[act.role]
  if (permissions.some((permission) => !may(maker, permission))) throw new Refusal(403, 'forbidden')
  const project = projectName(world, act)
  world.keys[act.key] = { project, agent: act.agent, permissions, revoked: false, createdBy: act.by }
  return { status: 201, says: { name: act.key, permissions: permissions.toSorted() } }
}

/** docs/api.md: "The key stops working immediately". "Revoking it again has no effect." */
export function revokeKey(world: World, act: Extract<Act, { do: 'revoke key' }>) {
  const revoker = asker(world, act, 'manage')
  const key = world.keys[act.key]
  requireOwn(revoker, key)
  // A key of all projects can see the others.
  const isSeen = key && (key.project === projectName(world, act) || (key.project === null && revoker.project === null))
  if (!isSeen) throw new Refusal(404, 'not_found')
  // "The last key with `manage` in all projects can't be revoked (409)". Root is the only one.
  if (key.project === null) throw new Refusal(409, 'conflict')
  key.revoked = true
  return { status: 200, says: { revoked: true } }
}
