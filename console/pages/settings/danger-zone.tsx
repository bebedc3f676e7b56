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

/** What stops the agent, for a while or for good, or takes it elsewhere. */
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
              <b>{isPaused ? 'Let it answer again' : 'Pause the agent'}</b>
              <span class="hint">
                {isPaused
                  ? 'It takes messages again at once.'
                  : 'Its runs are cancelled, it refuses messages, and its schedules wait.'}
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
              <b>Delete the agent</b>
              <span class="hint">
                With its versions, invocations, logs, metrics, memory and schedules, and its own webhooks and keys.
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
          title="Delete the agent"
          action="Delete agent"
          typed={agent.name}
          isDanger
          onClose={closeDialog}
          work={async () => {
            await service.agents.delete(agent.id)
            toast(`${agent.name} is deleted`)
            go('/')
          }}
        >
          <p>
            <b>{agent.name}</b> answers no client any more. Its versions, invocations, logs, metrics, memory and
            schedules are deleted with it, and so are the webhooks and keys that are limited to it. This cannot be
            undone.
          </p>
        </Confirm>
      )}
    </>
  )
}
