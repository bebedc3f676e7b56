// docs/team.md and docs/projects.md: who can do what.
import type { Act, Role } from './act.ts'
import { type Agent, type Key, type Permission, type Project, Refusal, type World } from './world.ts'

const ROLES: Record<Role, Permission[]> = {
  admin: ['read', 'write', 'delete', 'manage', 'approve'],
  developer: ['read', 'write'],
  viewer: ['read'],
  caller: ['invoke'],
  approver: ['read', 'approve'],
}

/** The key that asks, if it exists, is not revoked, and has the permission. */
export function asker(world: World, act: Pick<Act, 'by'>, needs: Permission): Key {
  const key = world.keys[act.by]
  if (!key || key.revoked) throw new Refusal(401, 'unauthorized')
  if (!may(key, needs)) throw new Refusal(403, 'forbidden')
  return key
}

/** "`write` includes `invoke`." */
function may(key: Key, needs: Permission): boolean {
  return key.permissions.includes(needs) || (needs === 'invoke' && key.permissions.includes('write'))
}

/** A key of one project works in that project. Only a key of all projects chooses. */
export function projectName(world: World, act: Pick<Act, 'by' | 'project'>): string {
  return world.keys[act.by]?.project ?? act.project
}

export function projectOf(world: World, act: Pick<Act, 'by' | 'project'>): Project {
  return world.projects[projectName(world, act)] as Project
}

/** "A key can't see other projects: their agents return 404." A key that is limited to one agent is refused others. */
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

/** "A revoked key is refused from now on." The last key that manages everything cannot be revoked; root always stays. */
export function revokeKey(world: World, act: Extract<Act, { do: 'revoke key' }>) {
  const revoker = asker(world, act, 'manage')
  const key = world.keys[act.key]
  // "Limited to another agent": the reply is the same whether such a key exists.
  if (revoker.agent !== null && revoker.agent !== key?.agent) throw new Refusal(403, 'forbidden')
  if (!key || key.project !== projectName(world, act)) throw new Refusal(404, 'not_found')
  key.revoked = true
  return { status: 200, says: { revoked: true } }
}
