import { useEffect, useRef, useState } from 'preact/hooks'
import type { Agent, Deployment } from '../../../sdk/client.ts'
import { param } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Dialog } from '../../ui/dialogs/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter } from '../../ui/forms/filter.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { canUndo } from './can-undo.ts'
import { ChangesDialog } from './changes-dialog.tsx'
import { DeployDialog } from './deploy-dialog.tsx'
import { deploymentColumns } from './deployment-columns.tsx'
import { ReturnDialog } from './return-dialog.tsx'
import { RollbackDialog } from './rollback-dialog.tsx'
import { Rollout } from './rollout.tsx'
import { Serving } from './serving.tsx'

const LIMIT = 25
const LIVE_MS = 2_000

type OpenDialog = { is: 'rollback' | 'changes'; deployment: Deployment }

export function DeploymentsPage({ params: { agent = '' } }: { params: Params }) {
  const [open, setOpen] = useState<OpenDialog | undefined>(undefined)
  const environment = param('environment')
  const query = {
    ...pageQuery(LIMIT),
    ...(environment && { environment }),
  }
  const deploy = may('createDeployment') && (
    <Button look="main" onClick={() => openDialog('deploy')}>
      Deploy
    </Button>
  )
  return (
    <AgentFrame
      name={agent}
      tab="deployments"
      actions={deploy}
      api={{ operation: 'listDeployments', method: 'deployments.list', params: { agent_id: agent }, query }}
    >
      {(loaded, { reload }) => (
        <Deployments agent={loaded} query={query} open={open} onOpen={setOpen} reloadAgent={reload} />
      )}
    </AgentFrame>
  )
}

type Props = {
  agent: Agent
  query: { limit: number; offset: number; environment?: string }
  open: OpenDialog | undefined
  onOpen(open: OpenDialog | undefined): void
  reloadAgent(): void
}

function Deployments({ agent, query, open, onOpen, reloadAgent }: Props) {
  const active = useResource(`active ${agent.id}`, (signal) =>
    service.deployments.list(agent.id, { status: 'active', limit: 100, sort: 'environment' }, { signal }),
  )
  const history = useResource(
    `deployments ${agent.id} ${JSON.stringify(query)}`,
    (signal) => service.deployments.list(agent.id, query, { signal }),
    { everyMs: (listed) => (gradualOnes(listed).length > 0 ? LIVE_MS : undefined) },
  )
  const inProgress = gradualOnes(history.data)
  // When one has ended, what is served has changed.
  const ids = inProgress.map(({ id }) => id).join()
  const shownIds = useRef(ids)
  useEffect(() => {
    if (shownIds.current !== '' && history.data) active.reload()
    shownIds.current = ids
  }, [ids])
  const serving = active.data?.data ?? []
  const close = () => {
    onOpen(undefined)
    if (openedDialog()) closeDialog()
  }
  const reloadBoth = () => {
    active.reload()
    history.reload()
  }
  const done = () => {
    close()
    reloadBoth()
  }
  const isRollbackAsked = openedDialog() === 'rollback' && active.data && history.data && may('rollbackDeployment')
  // A rollback that names no deployment undoes the one that production serves.
  const undone =
    open?.is === 'rollback'
      ? open.deployment
      : isRollbackAsked && serving.find((each) => each.environment === 'production' && canUndo(each, history.data))
  const columns = deploymentColumns({
    onChanges: (deployment) => onOpen({ is: 'changes', deployment }),
    ...(may('rollbackDeployment') && { onRollback: (deployment) => onOpen({ is: 'rollback', deployment }) }),
    serving,
    canUndo: (deployment) => canUndo(deployment, history.data),
  })
  return (
    <>
      <Serving active={active.data && serving} agent={agent} />
      {inProgress.map((deployment) => (
        <Rollout key={deployment.id} agent={agent} deployment={deployment} onDone={reloadBoth} />
      ))}
      <div class="filters">
        <h2>History</h2>
        <ChoiceFilter
          name="environment"
          label="Environment"
          all="all environments"
          choices={serving.map((deployment) => deployment.environment)}
        />
      </div>
      <List
        of={{ ...history, reload: reloadBoth }}
        error={active.error}
        label="Deployments"
        columns={columns}
        empty={
          <Empty title="No deployments yet" filters={['environment']}>
            <p>
              Until you deploy, {agent.name} serves its draft, and every change takes effect when you save. A deployment
              stores the definition as a version that you can roll back to.
            </p>
          </Empty>
        }
      />
      {openedDialog() === 'deploy' && active.data && may('createDeployment') && (
        <DeployDialog agent={agent} serving={serving} onClose={close} onDone={done} onConflict={reloadAgent} />
      )}
      {undone &&
        (undone.status === 'rolled_back' ? (
          <ReturnDialog agent={agent} deployment={undone} serving={serving} onClose={close} onDone={done} />
        ) : (
          <RollbackDialog agent={agent} deployment={undone} onClose={close} onDone={done} />
        ))}
      {isRollbackAsked && !undone && (
        <Dialog title="Roll back production" onClose={close}>
          <p>
            There is no version to return to: production has served no other version, or all others were rolled back.
          </p>
        </Dialog>
      )}
      {open?.is === 'changes' && <ChangesDialog agent={agent} deployment={open.deployment} onClose={close} />}
    </>
  )
}

/** The gradual deployments in progress. They are among the latest. */
function gradualOnes(listed: { data: Deployment[] } | undefined): Deployment[] {
  return (listed?.data ?? []).filter(({ status }) => status === 'rolling_out' || status === 'paused')
}
