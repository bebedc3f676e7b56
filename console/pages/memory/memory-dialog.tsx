import { useState } from 'preact/hooks'
import type { Agent, FoundMemory, Memory } from '../../../sdk/client.ts'
import { useChanges } from '../../lib/forms/use-changes.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { exactText } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Id } from '../../ui/copy.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'

/** A memory from a list or a search. A search also gives it a score. */
export type ShownMemory = Omit<FoundMemory, 'score' | 'matched'> &
  Partial<Pick<FoundMemory, 'score' | 'matched'>> &
  Partial<Pick<Memory, 'superseded_by'>>

type Props = { agent: Agent; memory: ShownMemory; onClose(): void; onChanged(): void }

/** Shows one memory in full, and lets the reader correct or delete it. */
export function MemoryDialog({ agent, memory, onClose, onChanged }: Props) {
  const { id, kind, role, user_id, session_id, created_at, metadata } = memory
  const [content, setContent] = useState(memory.content)
  const saveChanges = useChanges({ content: memory.content })
  const done = (said: string) => {
    toast(said)
    onChanged()
    onClose()
  }
  const save = useAction(async () => {
    const now = await service.memory.get(agent.id, id)
    await saveChanges({ content }, { content: now.content }, (changes) => service.memory.update(agent.id, id, changes))
    done('Memory updated')
  })
  const forget = useAction(async () => {
    await service.memory.delete(agent.id, id)
    done('Memory deleted')
  })
  return (
    <Dialog title={role ? `${kind} of the ${role}` : kind} onClose={onClose} isWide>
      <Form onSubmit={() => save.run()}>
        {may('updateMemory') ? (
          <Field
            label="Content"
            rows={6}
            value={content}
            onInput={setContent}
            error={reasonOf(save.error, 'content')}
          />
        ) : (
          <p class="whole">{memory.content}</p>
        )}
        <Facts
          of={{
            User: user_id ?? undefined,
            Session: session_id ?? undefined,
            When: exactText(created_at),
            'Found by': memory.matched?.join(', '),
            Score: memory.score?.toFixed(3),
            'Replaced by': memory.superseded_by ?? undefined,
            Metadata: Object.keys(metadata).length > 0 ? <code>{JSON.stringify(metadata)}</code> : undefined,
            ID: <Id id={id} />,
          }}
        />
        <Failure error={save.error ?? forget.error} />
        <DialogActions>
          {may('deleteMemory') && (
            <Button look="danger" doing={forget}>
              Delete memory
            </Button>
          )}
          {may('updateMemory') && (
            <Button
              look="main"
              type="submit"
              isBusy={save.isBusy}
              disabled={content === memory.content || !content.trim()}
            >
              Save
            </Button>
          )}
        </DialogActions>
      </Form>
    </Dialog>
  )
}
