import type { Agent } from '../../../sdk/client.ts'
import { reloadPage } from '../resource.ts'
import { service } from '../service.ts'
import { toast } from '../toasts.ts'

/** Pauses an agent, or lets it answer again, says so and offers the way back. */
export async function setStatus({ id, name }: Pick<Agent, 'id' | 'name'>, status: Agent['status']): Promise<void> {
  await service.agents.update(id, { status })
  const undone = status === 'paused' ? 'running' : 'paused'
  toast(status === 'paused' ? `${name} is paused` : `${name} answers again`, () => setStatus({ id, name }, undone))
  reloadPage()
}
