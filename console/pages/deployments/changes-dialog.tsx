import type { Agent, Deployment } from '../../../sdk/client.ts'
import { Id } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { Changes } from './changes.tsx'

type Props = { agent: Agent; deployment: Deployment; onClose(): void }

/** What a deployment changed. */
export function ChangesDialog({ agent, deployment, onClose }: Props) {
  return (
    <Dialog title={`${deployment.version} in ${deployment.environment}`} onClose={onClose} isWide>
      <p>
        <Id id={deployment.id} />
      </p>
      <Changes agent_id={agent.id} deployment={deployment} />
    </Dialog>
  )
}
