import { useState } from 'preact/hooks'
import type { Agent } from '../../../sdk/client.ts'
import { param } from '../../lib/location.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'

export function AddNoteDialog({ agent, onClose, onDone }: { agent: Agent; onClose(): void; onDone(): void }) {
  const [content, setContent] = useState('')
  const [user, setUser] = useState(param('user') ?? '')
  const action = useAction(async () => {
    const context = user.trim() ? { user_id: user.trim() } : {}
    await service.memory.write(agent.id, { items: [{ content: content.trim(), kind: 'note', context }] })
    toast('Note added')
    onDone()
    onClose()
  })
  return (
    <FormDialog title="Add note" onClose={onClose} action="Add note" doing={action} disabled={!content.trim()}>
      <Field
        label="Note"
        rows={4}
        value={content}
        onInput={setContent}
        placeholder="Prefers short answers."
        error={reasonOf(action.error, 'items.0.content')}
        isRequired
        hasFocus
      />
      <Field
        label="User"
        value={user}
        onInput={setUser}
        hint="The user this note is about. Notes without a user are found by search but never recalled."
        error={reasonOf(action.error, 'items.0.context.user_id')}
      />
    </FormDialog>
  )
}
