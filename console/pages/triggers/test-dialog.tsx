import { useState } from 'preact/hooks'
import type { Agent, TestedTrigger, Trigger } from '../../../sdk/client.ts'
import { go } from '../../lib/location.ts'
import { requestPath } from '../../lib/paths.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Snippet } from '../../ui/copy.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Status } from '../../ui/data/status.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'

type Props = { agent: Agent; trigger: Trigger; onClose(): void }

const DELIVERIES_SHOWN = 20
const EXAMPLE = ''

/** Shows what an example, a stored delivery or the reader's own payload would become, and starts a run on request. */
export function TestDialog({ agent, trigger, onClose }: Props) {
  const [delivery_id, setDelivery] = useState(EXAMPLE)
  const [payload, setPayload] = useState('')
  const [tested, setTested] = useState<TestedTrigger>()
  const deliveries = useResource(`to test ${trigger.id}`, (signal) =>
    service.triggers.deliveries(agent.id, trigger.id, { limit: DELIVERIES_SHOWN }, { signal }),
  )
  const stored = deliveries.data?.data.filter(({ has_payload }) => has_payload) ?? []
  const asked = () => {
    if (delivery_id !== EXAMPLE) return { delivery_id }
    return payload.trim() === '' ? {} : { payload: JSON.parse(payload) as unknown, headers: tested?.headers }
  }
  const test = useAction(async () => {
    const result = await service.triggers.test(agent.id, trigger.id, asked())
    setTested(result)
    // The reader can change the example and test it again.
    if (delivery_id === EXAMPLE && payload.trim() === '') setPayload(JSON.stringify(result.payload, null, 2))
  })
  const run = useAction(async () => {
    const { request_id } = await service.triggers.test(agent.id, trigger.id, { ...asked(), run: true })
    toast('Run started')
    onClose()
    if (request_id) go(requestPath(request_id))
  })
  return (
    <FormDialog title="Test trigger" action="Test" doing={test} cancel="Close" onClose={onClose} isWide>
      <Select
        label="Payload"
        value={delivery_id}
        choices={[
          { value: EXAMPLE, label: 'example' },
          ...stored.map(({ id, created_at }) => ({ value: id, label: `delivery of ${created_at}` })),
        ]}
        onChange={(value) => {
          setDelivery(value)
          setTested(undefined)
        }}
      />
      {delivery_id === EXAMPLE && (
        <Field
          label="Body (JSON)"
          rows={8}
          hint="Leave empty for an example from the sender."
          isMono
          problem={jsonProblem(payload)}
          value={payload}
          onInput={setPayload}
        />
      )}
      {tested && <Outcome tested={tested} />}
      {tested?.outcome === 'accepted' && (
        <div>
          <Button icon="play" doing={run}>
            Start run
          </Button>
        </div>
      )}
    </FormDialog>
  )
}

function Outcome({ tested }: { tested: TestedTrigger }) {
  const { outcome, reason, message, user_id, session_id, secret_found } = tested
  return (
    <section aria-label="Result" class="stack">
      <Facts
        of={{
          Outcome: <Status value={outcome} />,
          Reason: reason ?? undefined,
          User: user_id ?? undefined,
          Session: session_id ?? undefined,
          Secret: secret_found ? undefined : 'missing, so every request is refused',
        }}
      />
      {message !== null && <Snippet label="tested message" text={message} />}
    </section>
  )
}

function jsonProblem(text: string): string {
  if (text.trim() === '') return ''
  try {
    JSON.parse(text)
    return ''
  } catch {
    return 'Body is not valid JSON.'
  }
}
