import type { Agent } from '../../../sdk/client.ts'
import { resume } from '../../lib/agents/pause.ts'
import { go } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { projects } from '../../lib/projects/chosen-project.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Failure } from '../../ui/failure.tsx'
import { MoveDialog } from './move-dialog.tsx'
import { PauseDialog } from './pause-dialog.tsx'

/** Actions that stop the agent temporarily or for good, or move it. */
export function DangerZone({ agent }: { agent: Agent }) {
  const isPaused = agent.status === 'paused'
  const mayMove = may('moveAgent') && projects.value.length > 0
  const resuming = useAction(() => resume(agent))
  return (
    <>
      <section class="danger-zone" aria-label="Stop the agent">
        {may('updateAgent') && (
          <div>
            <p>
              <b>{isPaused ? 'Resume agent' : 'Pause agent'}</b>
              <span class="hint">
                {isPaused
                  ? 'The agent accepts messages again immediately.'
                  : 'Cancels its active runs, rejects new messages, and pauses its schedules.'}
              </span>
            </p>
            {isPaused ? (
              <Button icon="play" doing={resuming}>
                Resume
              </Button>
            ) : (
              <Button icon="pause" onClick={() => openDialog('pause')}>
                Pause …
              </Button>
            )}
          </div>
        )}
        {mayMove && (
          <div>
            <p>
              <b>Move to another project</b>
              <span class="hint">With its versions, history, memory and schedules.</span>
            </p>
            <Button onClick={() => openDialog('move')}>Move …</Button>
          </div>
        )}
        {may('deleteAgent') && (
          <div>
            <p>
              <b>Delete agent</b>
              <span class="hint">
                Also deletes its versions, invocations, logs, metrics, memory, schedules, webhooks and keys.
              </span>
            </p>
            <Button look="danger" onClick={() => openDialog('delete')}>
              Delete …
            </Button>
          </div>
        )}
        <Failure error={resuming.error} />
      </section>
      {openedDialog() === 'pause' && may('updateAgent') && !isPaused && (
        <PauseDialog agent={agent} onClose={closeDialog} />
      )}
      {openedDialog() === 'move' && mayMove && <MoveDialog agent={agent} onClose={closeDialog} />}
      {openedDialog() === 'delete' && may('deleteAgent') && (
        <Confirm
          title="Delete agent"
          action="Delete agent"
          typed={agent.name}
          isDanger
          onClose={closeDialog}
          work={async () => {
            await service.agents.delete(agent.id)
            toast(`${agent.name} deleted`)
            go('/')
          }}
        >
          <p>
            <b>{agent.name}</b> is deleted with its versions, invocations, logs, metrics, memory and schedules, and with
            the webhooks and keys limited to it. This can't be undone.
          </p>
        </Confirm>
      )}
    </>
  )
}
