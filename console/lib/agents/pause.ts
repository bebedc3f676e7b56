import type { Agent } from '../../../sdk/client.ts'
import { reloadPage } from '../resource.ts'
import { service } from '../service.ts'
import { toast } from '../toasts.ts'

type AgentRef = Pick<Agent, 'id' | 'name'>

/** Cancels what the agent does and refuses the rest. The way back is offered; what was cancelled stays so. */
export async function pause(agent: AgentRef): Promise<void> {
  await service.agents.update(agent.id, { status: 'paused' })
  toast(`${agent.name} paused`, () => resume(agent))
  reloadPage()
}

/** Lets a paused agent answer again. It offers no undo: a pause cancels runs, so it is asked about first. */
export async function resume({ id, name }: AgentRef): Promise<void> {
  await service.agents.update(id, { status: 'running' })
  toast(`${name} resumed`)
  reloadPage()
}
