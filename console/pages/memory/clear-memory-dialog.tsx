import type { Agent } from '../../../sdk/client.ts'
import { param } from '../../lib/location.ts'
import { service } from '../../lib/service.ts'
import { counted } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Confirm } from '../../ui/dialogs/confirm.tsx'

/** Clears what the filters select: a user, a session, or everything. */
export function ClearMemoryDialog({ agent, onClose, onDone }: { agent: Agent; onClose(): void; onDone(): void }) {
  const [user_id, session_id] = [param('user'), param('session')]
  const whose = [user_id && `the user ${user_id}`, session_id && `the session ${session_id}`].filter(Boolean)
  return (
    <Confirm
      title="Clear memory"
      action="Clear memory"
      typed={agent.name}
      isDanger
      onClose={onClose}
      work={async () => {
        const { deleted } = await service.memory.clear(agent.id, {
          ...(user_id && { user_id }),
          ...(session_id && { session_id }),
        })
        toast(`${counted(deleted, 'memory', 'memories')} deleted`)
        onDone()
      }}
    >
      <p>
        All memories of <b>{whose.length > 0 ? whose.join(' in ') : `the agent ${agent.name}, for all users,`}</b> are
        deleted. This can't be undone.
      </p>
      {whose.length === 0 && (
        <p class="hint">To clear the memory of one user or session, filter the list by it first.</p>
      )}
    </Confirm>
  )
}
