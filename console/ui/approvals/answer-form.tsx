import { useState } from 'preact/hooks'
import type { Approval, DecideApproval } from '../../../sdk/client.ts'
import { tellDecision } from '../../lib/approvals/tell-decision.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Button } from '../button.tsx'
import { Failure, reasonOf } from '../failure.tsx'
import { Field } from '../forms/field.tsx'
import { Form } from '../forms/form.tsx'

/** Answers an agent's question with one of its choices or in words. */
export function AnswerForm({ approval, onDecided }: { approval: Approval; onDecided(): void }) {
  const { agent_id, request_id, call_id } = approval
  const options = optionsOf(approval)
  const [answer, setAnswer] = useState('')
  const send = useAction(async (given: string | undefined) => {
    const decision: DecideApproval =
      given === undefined ? { decision: 'reject' } : { decision: 'approve', answer: given }
    await service.approvals.decide(agent_id, request_id, call_id, decision)
    await tellDecision(approval, given === undefined ? 'Question declined' : 'Answer sent')
    onDecided()
  })
  return (
    <Form onSubmit={() => send.run(answer.trim())}>
      {options.length > 0 && (
        <div class="filters">
          {options.map((option) => (
            <Button key={option} isBusy={send.isBusy} onClick={() => void send.run(option)}>
              {option}
            </Button>
          ))}
        </div>
      )}
      <Field label="Answer" rows={2} value={answer} onInput={setAnswer} error={reasonOf(send.error, 'answer')} />
      <Failure error={send.error} />
      <div class="actions">
        <Button look="danger" isBusy={send.isBusy} onClick={() => void send.run(undefined)}>
          Decline question
        </Button>
        <Button look="main" type="submit" isBusy={send.isBusy} disabled={!answer.trim()}>
          Send answer
        </Button>
      </div>
    </Form>
  )
}

function optionsOf({ arguments: { options } }: Approval): string[] {
  return Array.isArray(options) ? options.filter((option) => typeof option === 'string') : []
}
