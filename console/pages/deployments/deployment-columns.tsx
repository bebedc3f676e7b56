import type { Deployment } from '../../../sdk/client.ts'
import { Button } from '../../ui/button.tsx'
import { Status } from '../../ui/status.tsx'
import type { Column } from '../../ui/table.tsx'
import { Ago } from '../../ui/time.tsx'

type Deeds = {
  onChanges(deployment: Deployment): void
  onRollback?(deployment: Deployment): void
  serving: Deployment[]
}

export function deploymentColumns({ onChanges, onRollback, serving }: Deeds): Column<Deployment>[] {
  const canReturnTo = ({ environment, version, status, replaces }: Deployment) => {
    if (status === 'active') return replaces !== null
    return serving.some((active) => active.environment === environment && active.version !== version)
  }
  return [
    { title: 'Version', cell: ({ version }) => <b>{version}</b> },
    { title: 'Environment', cell: ({ environment }) => environment },
    { title: 'Status', cell: ({ status }) => <Status value={status} /> },
    {
      title: 'Message',
      isExtra: true,
      isWide: true,
      cell: ({ message, rollback_of }) => (
        <>
          {rollback_of && <span class="tag">rollback</span>}
          {message ?? ''}
        </>
      ),
    },
    { title: 'By', isExtra: true, cell: ({ created_by }) => <code class="soft">{created_by}</code> },
    { title: 'When', isNumber: true, cell: ({ created_at }) => <Ago time={created_at} /> },
    {
      title: '',
      isNumber: true,
      cell: (deployment) => (
        <span class="row-actions">
          <Button look="quiet" onClick={() => onChanges(deployment)}>
            What changed
          </Button>
          {onRollback && canReturnTo(deployment) && (
            <Button icon="undo" onClick={() => onRollback(deployment)}>
              {deployment.status === 'active' ? 'Roll back' : 'Return to it'}
            </Button>
          )}
        </span>
      ),
    },
  ]
}
