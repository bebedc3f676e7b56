import { useState } from 'preact/hooks'
import { type Approval, type DecideApproval, MoorageError } from '../../../sdk/client.ts'
import { tellDecision } from '../../lib/approvals/tell-decision.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Button } from '../button.tsx'
import { Failure, reasonOf } from '../failure.tsx'
import { Field } from '../forms/field.tsx'

/** Approves a tool call, possibly with other arguments, or rejects it. */
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
    await tellDecision(approval, decision === 'approve' ? 'Call approved' : 'Call rejected')
    // After an error, the page isn't reloaded immediately. If another person was faster, the card would disappear with
    // its error.
    onDecided()
  })
  return (
    <div class="stack">
      {text !== undefined && (
        <Field
          label="Arguments (JSON)"
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
        hint="The agent sees the note if you reject the call."
        error={reasonOf(decide.error, 'note')}
      />
      <Failure error={decide.error} />
      <div class="actions">
        {text === undefined && kind === 'tool' && (
          <Button icon="edit" onClick={() => setText(known)}>
            Change arguments
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
    throw new MoorageError('invalid_request', `The arguments are not valid JSON: ${(error as Error).message}`)
  }
}
