import { useState } from 'preact/hooks'
import type { Approval, DecideApproval } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'

/** Answers a question of an agent: one of its own choices, or in words. */
export function AnswerForm({ approval, onDecided }: { approval: Approval; onDecided(): void }) {
  const { agent_id, request_id, call_id } = approval
  const options = optionsOf(approval)
  const [answer, setAnswer] = useState('')
  const send = useAction(async (given: string | undefined) => {
    const decision: DecideApproval =
      given === undefined ? { decision: 'reject' } : { decision: 'approve', answer: given }
    await service.approvals.decide(agent_id, request_id, call_id, decision)
    toast(given === undefined ? 'The agent goes on without an answer' : 'The agent has your answer')
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
          Do not answer
        </Button>
        <Button look="main" type="submit" isBusy={send.isBusy} disabled={!answer.trim()}>
          Answer
        </Button>
      </div>
    </Form>
  )
}

function optionsOf({ arguments: { options } }: Approval): string[] {
  return Array.isArray(options) ? options.filter((option) => typeof option === 'string') : []
}
