import { useState } from 'preact/hooks'
import type { Agent, RemoteCheck as Checked } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { durationText } from '../../lib/text/format.ts'
import { Button } from '../../ui/button.tsx'
import { Status } from '../../ui/data/status.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'

/** Tests the remote agent as it is saved, and shows for each point of the contract whether it passes. */
export function RemoteCheck({ agent }: { agent: Agent }) {
  const [message, setMessage] = useState('Hello')
  const [checked, setChecked] = useState<Checked | undefined>(undefined)
  const isA2a = agent.remote !== null && 'a2a' in agent.remote
  const check = useAction(async () => {
    setChecked(undefined)
    setChecked(await service.agents.checkRemote(agent.id, isA2a ? {} : { message }))
  })
  return (
    <section class="remote-check" aria-label="Check">
      <h2>Check</h2>
      <p class="hint">
        {isA2a
          ? "Reads the agent card and requests a task that doesn't exist. No message is sent."
          : 'Calls the saved agent up to eight times. Tool, model and approval steps are simulated.'}
      </p>
      {!isA2a && (
        <Field
          label="Message"
          hint="Choose a message that makes the agent call a model or a tool"
          value={message}
          onInput={setMessage}
        />
      )}
      <Button icon="play" doing={check} disabled={message === ''}>
        Run check
      </Button>
      <Failure error={check.error} />
      {checked && !check.error && <Result checked={checked} />}
    </section>
  )
}

function Result({ checked: { points, error, duration_ms } }: { checked: Checked }) {
  const failed = points.filter(({ status }) => status === 'failed').length
  return (
    <div role="status" class="stack">
      <ul class="points">
        {points.map(({ point, status, detail }) => (
          <li key={point}>
            <Status value={status} />
            <span>
              {point}
              {detail !== null && <span class={status === 'failed' ? 'wrong' : 'hint'}>{detail}</span>}
            </span>
          </li>
        ))}
      </ul>
      {error !== null && <p class="wrong">{error}</p>}
      <p class="soft">
        {failed > 0 ? `${failed} of ${points.length} checks failed` : 'No checks failed'}, in{' '}
        {durationText(duration_ms)}
      </p>
    </div>
  )
}
