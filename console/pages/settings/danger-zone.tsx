import type { Agent } from '../../../sdk/client.ts'
import { setStatus } from '../../lib/agents/pause.ts'
import { go } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Failure } from '../../ui/failure.tsx'

/** What stops the agent, for a while or for good. */
export function DangerZone({ agent }: { agent: Agent }) {
  const isPaused = agent.status === 'paused'
  const toggle = useAction(() => setStatus(agent, isPaused ? 'running' : 'paused'))
  return (
    <section class="danger-zone" aria-label="Stop the agent">
      {may('updateAgent') && (
        <div>
          <p>
            <b>{isPaused ? 'Let it answer again' : 'Pause the agent'}</b>
            <span class="hint">
              {isPaused
                ? 'It takes messages again at once.'
                : 'It refuses messages, and its schedules wait. Runs under way finish.'}
            </span>
          </p>
          <Button icon={isPaused ? 'play' : 'pause'} isBusy={toggle.isBusy} onClick={() => void toggle.run()}>
            {isPaused ? 'Resume' : 'Pause'}
          </Button>
        </div>
      )}
      {may('deleteAgent') && (
        <div>
          <p>
            <b>Delete the agent</b>
            <span class="hint">With its versions, invocations, logs, metrics and memory.</span>
          </p>
          <Button look="danger" onClick={() => openDialog('delete')}>
            Delete
          </Button>
        </div>
      )}
      <Failure error={toggle.error} />
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
            <b>{agent.name}</b> answers nobody any more. Its versions, invocations, logs, metrics and memory are deleted
            with it. This cannot be undone.
          </p>
        </Confirm>
      )}
    </section>
  )
}
