import type { Webhook } from '../../../sdk/client.ts'
import { Status } from '../../ui/data/status.tsx'
import { Ago } from '../../ui/data/time.tsx'

const REASONS = {
  requested: 'manually',
  gone: 'its receiver answered 410 Gone',
  failing: 'its deliveries failed for days',
}

/** Whether events reach the receiver, and if not, since when. */
export function WebhookHealth({ status, disabled_reason, failing_since }: Webhook) {
  if (status === 'disabled') {
    return (
      <>
        <Status value="disabled" />
        {disabled_reason && <span class="soft"> {REASONS[disabled_reason]}</span>}
      </>
    )
  }
  if (failing_since === null) return <Status value="healthy" />
  return (
    <>
      <Status value="failing" /> <span class="soft">since</span> <Ago time={failing_since} />
    </>
  )
}
