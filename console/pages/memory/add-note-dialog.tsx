import { useState } from 'preact/hooks'
import type { Agent } from '../../../sdk/client.ts'
import { param } from '../../lib/location.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'

export function AddNoteDialog({ agent, onClose, onDone }: { agent: Agent; onClose(): void; onDone(): void }) {
  const [content, setContent] = useState('')
  const [user, setUser] = useState(param('user') ?? '')
  const action = useAction(async () => {
    const context = user.trim() ? { user_id: user.trim() } : {}
    await service.memory.write(agent.id, { items: [{ content: content.trim(), kind: 'note', context }] })
    toast('The note is remembered')
    onDone()
    onClose()
  })
  return (
    <Dialog title="Add a note" onClose={onClose}>
      <Form onSubmit={() => action.run()}>
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
          hint="Whom it is about. Without one, it is recalled for every user."
          error={reasonOf(action.error, 'items.0.context.user_id')}
        />
        <Failure error={action.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" isBusy={action.isBusy} disabled={!content.trim()}>
            Add note
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
