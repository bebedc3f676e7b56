import type { Deployment } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../../ui/button.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Who } from '../../ui/data/who.tsx'

type RowActions = {
  onChanges(deployment: Deployment): void
  onRollback?(deployment: Deployment): void
  serving: Deployment[]
  canUndo(active: Deployment): boolean
}

export function deploymentColumns({ onChanges, onRollback, serving, canUndo }: RowActions): Column<Deployment>[] {
  const canReturnTo = (deployment: Deployment) => {
    const { environment, version, status } = deployment
    if (status === 'active') return canUndo(deployment)
    if (status !== 'superseded' && status !== 'rolled_back') return false
    return serving.some((active) => active.environment === environment && active.version !== version)
  }
  return [
    {
      title: 'Version',
      cell: ({ id, version, environment, progress }) => (
        <>
          {/* Its page shows what was compared, and why it was aborted. */}
          {progress && may('findDeployment') ? (
            <a href={href(`/deployments/${id}`)}>
              <b>{version}</b>
            </a>
          ) : (
            <b>{version}</b>
          )}
          <span class="narrow soft">{environment}</span>
        </>
      ),
    },
    { title: 'Environment', isExtra: true, cell: ({ environment }) => environment },
    {
      title: 'Status',
      cell: ({ status, created_at }) => (
        <>
          <Status value={status} />
          <span class="narrow soft">
            <Ago time={created_at} />
          </span>
        </>
      ),
    },
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
    {
      title: 'By',
      isExtra: true,
      cell: ({ created_by, created_by_name }) => <Who id={created_by} name={created_by_name} />,
    },
    { title: 'When', isNumber: true, isExtra: true, cell: ({ created_at }) => <Ago time={created_at} /> },
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
              {deployment.status === 'active' ? 'Roll back' : 'Return to this version'}
            </Button>
          )}
        </span>
      ),
    },
  ]
}
