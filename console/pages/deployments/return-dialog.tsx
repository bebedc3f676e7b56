import type { Agent, Deployment } from '../../../sdk/client.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Diff } from '../../ui/data/diff.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Failure } from '../../ui/failure.tsx'

type Props = { agent: Agent; deployment: Deployment; serving: Deployment[]; onClose(): void; onDone(): void }

/** Deploys a version that was rolled back. A rollback can't do this, because it skips what was rolled back. */
export function ReturnDialog({ agent, deployment: { id, environment, version }, serving, onClose, onDone }: Props) {
  const current = serving.find((active) => active.environment === environment)
  const compared = useResource(current && `return to ${id} from ${current.id}`, (signal) =>
    service.deployments.diff(agent.id, id, { from: current?.id }, { signal }),
  )
  const side = (name: 'from' | 'to') =>
    Object.fromEntries((compared.data?.diff ?? []).map((change) => [change.field, change[name]]))
  return (
    <Confirm
      title={`Deploy ${version} again`}
      action={`Serve ${version}`}
      work={async () => {
        await service.deployments.create(agent.id, { environment, version, message: `Return to ${version}` })
        toast(`${environment} serves ${version} again`)
        onDone()
      }}
      onClose={onClose}
    >
      <p>
        This version was rolled back. {environment} will serve {version} again, unchanged, instead of {current?.version}
        .
      </p>
      <Failure error={compared.error} retry={compared.reload} />
      {compared.data && <Diff label="What will change" from={side('from')} to={side('to')} />}
    </Confirm>
  )
}
