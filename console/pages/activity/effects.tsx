import { useState } from 'preact/hooks'
import type { Invocation } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Status } from '../../ui/data/status.tsx'
import { Failure } from '../../ui/failure.tsx'

/** A run's memories and webhook deliveries. They are loaded when this section is opened. */
export function Effects({ run: { agent_id, request_id } }: { run: Invocation }) {
  const [isOpen, setOpen] = useState(false)
  const left = useResource(isOpen ? `effects ${request_id}` : undefined, (signal) =>
    service.invocations.effects(agent_id, request_id, { signal }),
  )
  return (
    <details class="effects" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Memories and deliveries</summary>
      <Failure error={left.error} retry={left.reload} />
      {left.data && (
        <>
          <h3>Memories</h3>
          {left.data.memories.length === 0 && <p class="soft">No memories written.</p>}
          <ul class="plain-list">
            {left.data.memories.map(({ id, role, kind, content }) => (
              <li key={id}>
                <span class="tag">{role ?? kind}</span>
                {content}
              </li>
            ))}
          </ul>
          <h3>Deliveries</h3>
          {left.data.deliveries.length === 0 && <p class="soft">No webhooks notified.</p>}
          <ul class="plain-list">
            {left.data.deliveries.map(({ id, webhook_id, event, status }) => (
              <li key={id}>
                <a href={href(`/webhooks/${webhook_id}/${id}`)}>{event}</a> <Status value={status} />
              </li>
            ))}
          </ul>
        </>
      )}
    </details>
  )
}
