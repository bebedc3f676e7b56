import type { Agent, Deployment } from '../../../sdk/client.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Id } from '../../ui/copy.tsx'
import { Diff } from '../../ui/data/diff.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { Failure } from '../../ui/failure.tsx'

type Props = { agent: Agent; deployment: Deployment; onClose(): void }

/** What a deployment changed, compared with the one that it replaced. */
export function ChangesDialog({ agent, deployment: { id, version, environment, replaces }, onClose }: Props) {
  const both = useResource(`changes ${id}`, async (signal) => {
    const get = (deployment_id: string) => service.deployments.get(agent.id, deployment_id, { signal })
    const [after, before] = await Promise.all([get(id), replaces ? get(replaces) : undefined])
    return { after, before }
  })
  return (
    <Dialog title={`${version} in ${environment}`} onClose={onClose} isWide>
      <p>
        <Id id={id} />
      </p>
      <Failure error={both.error} retry={both.reload} />
      {both.data && (
        <>
          <p>
            {both.data.before
              ? `Compared with ${both.data.before.version}, which it replaced:`
              : 'The first one in its environment. It serves:'}
          </p>
          <Diff label="Changes" from={both.data.before?.definition ?? {}} to={both.data.after.definition} />
        </>
      )}
    </Dialog>
  )
}
