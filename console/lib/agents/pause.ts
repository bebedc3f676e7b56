import type { Agent } from '../../../sdk/client.ts'
import { reloadPage } from '../resource.ts'
import { service } from '../service.ts'
import { toast } from '../toasts.ts'

type AgentRef = Pick<Agent, 'id' | 'name'>

/**
 * Pauses an agent: cancels its runs and refuses new ones. The toast offers to resume it, but cancelled runs stay
 * cancelled.
 */
export async function pause(agent: AgentRef): Promise<void> {
  await service.agents.update(agent.id, { status: 'paused' })
  toast(`${agent.name} paused`, () => resume(agent))
  reloadPage()
}

/** Resumes a paused agent. This offers no undo, because a pause cancels runs and so needs a confirmation. */
export async function resume({ id, name }: AgentRef): Promise<void> {
  await service.agents.update(id, { status: 'running' })
  toast(`${name} resumed`)
  reloadPage()
}
