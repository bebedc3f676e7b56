import { ApiError } from '../errors.ts'
import type { Lookup } from '../lib/cache.ts'
import type { Needs } from '../operation/context.ts'
import type { KnownAnswer } from '../operation/known-answer.ts'
import type { Parts } from '../operation/parts.ts'
import { type Pause, pausedMessage } from '../operation/pauses.ts'
import type { ProjectSnapshot } from '../operation/project-snapshot.ts'
import type { Agent, presentAgent } from './agent.ts'
import type { Definition } from './definition.ts'
import * as agents from './store.ts'

/** What an environment serves. The version and the deployment are null while it serves the draft. */
export type ServedAgent = { version: string | null; deployment_id: string | null; definition: Definition }

/** What an environment serves, and the candidate of a gradual deployment with its share of the messages. */
export type ServedVersions = {
  stable: ServedAgent
  candidate: { served: ServedAgent; deployment_id: string; share: number; split_key: string } | undefined
}

/**
 * Everything that a request needs to know about an agent and its project. It is dropped as a whole when any of it
 * changes.
 */
export class AgentSnapshot {
  readonly agent: Agent
  readonly project: ProjectSnapshot
  /** What its environments serve, if already requested: `deployments/serving.ts` fills it. */
  readonly served = new Map<string, ServedVersions>()
  /** As clients see it, once one has asked. */
  shown: KnownAnswer<ReturnType<typeof presentAgent>> | undefined

  constructor(agent: Agent, project: ProjectSnapshot) {
    this.agent = agent
    this.project = project
  }
}

export type SnapshotParts = Pick<Parts, 'findProject' | 'memo' | 'storage'>

const subjectsOf = ({ agent, project }: AgentSnapshot) => [agent.id, project.id]

/** Finds an agent, from memory until any of its data changes. */
export function findSnapshot(id: string, parts: SnapshotParts): Lookup<AgentSnapshot> {
  const load = () => snapshotOf(agents.find(parts.storage.db, id), parts)
  return parts.memo('snapshots', `agent ${id}`, load, subjectsOf)
}

/** The snapshot that the request was admitted with, unless any of it has changed since. */
export function findEntered(id: string, context: SnapshotParts & Needs<'entered'>): Lookup<AgentSnapshot> {
  const { entered, memo } = context
  const isPresent = entered instanceof AgentSnapshot && entered.agent.id === id && memo.holds('snapshots', entered)
  return isPresent ? entered : findSnapshot(id, context)
}

/** Finds an agent of a project by ID or name, from memory until any of its data changes. */
export function findSnapshotIn(project_id: string, ref: string, parts: SnapshotParts): Lookup<AgentSnapshot> {
  const load = () => snapshotOf(agents.findIn(parts.storage.db, project_id, ref), parts)
  return parts.memo('snapshots', `agent of ${project_id} ${ref}`, load, subjectsOf)
}

/** Finds an agent by its number, from memory until any of its data changes. */
export function findSnapshotBySeq(seq: number, parts: SnapshotParts): Lookup<AgentSnapshot> {
  const load = () => snapshotOf(agents.findBySeq(parts.storage.db, seq), parts)
  return parts.memo('snapshots', `agent ${seq}`, load, subjectsOf)
}

async function snapshotOf(found: Promise<Agent | undefined>, { findProject }: SnapshotParts) {
  const agent = await found
  const project = agent && (await findProject(agent.project_id))
  return project && new AgentSnapshot(agent, project)
}

/** Refuses new messages for an agent that is paused, itself or with its project or the service. */
export function requireRunning({ name, status }: Agent, pause: Pause | undefined): void {
  if (pause) throw new ApiError('agent_paused', pausedMessage(pause))
  if (status === 'paused') throw new ApiError('agent_paused', `Agent "${name}" is paused and doesn't accept messages.`)
}
