import { useState } from 'preact/hooks'
import { type Approval, type DecideApproval, MoorageError } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'

/** Approves the call of a tool, perhaps with other arguments, or rejects it. */
export function DecisionForm({ approval, onDecided }: { approval: Approval; onDecided(): void }) {
  const { agent_id, request_id, call_id, kind } = approval
  const known = JSON.stringify(approval.arguments, null, 2)
  const [text, setText] = useState<string>()
  const [note, setNote] = useState('')
  const decide = useAction(async (decision: DecideApproval['decision']) => {
    const isChanged = decision === 'approve' && text !== undefined && text !== known
    await service.approvals.decide(agent_id, request_id, call_id, {
      decision,
      ...(isChanged && { arguments: parse(text) }),
      ...(note.trim() && { note: note.trim() }),
    })
    toast(decision === 'approve' ? 'Approved: the run goes on' : 'Rejected: the agent is told')
    // After an error the page is not loaded again at once: if another person was faster, the card would go with its error.
    onDecided()
  })
  return (
    <div class="stack">
      {text !== undefined && (
        <Field
          label="Arguments, as JSON"
          rows={Math.min(14, text.split('\n').length + 1)}
          value={text}
          onInput={setText}
          error={reasonOf(decide.error, 'arguments')}
          isMono
        />
      )}
      <Field
        label="Note"
        value={note}
        onInput={setNote}
        hint="If you reject it, the agent is told."
        error={reasonOf(decide.error, 'note')}
      />
      <Failure error={decide.error} />
      <div class="actions">
        {text === undefined && kind === 'tool' && (
          <Button icon="edit" onClick={() => setText(known)}>
            Change the arguments
          </Button>
        )}
        <Button look="danger" isBusy={decide.isBusy} onClick={() => void decide.run('reject')}>
          Reject
        </Button>
        <Button look="main" isBusy={decide.isBusy} onClick={() => void decide.run('approve')}>
          Approve
        </Button>
      </div>
    </div>
  )
}

function parse(text: string): Record<string, never> {
  try {
    return JSON.parse(text) as Record<string, never>
  } catch (error) {
    throw new MoorageError('invalid_request', `The arguments are not JSON: ${(error as Error).message}`)
  }
}
