import type { Invocation } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { agentPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { LogLine } from '../../ui/data/log-line.tsx'
import { Failure } from '../../ui/failure.tsx'

const SHOWN = 200

/** A run's log entries. They exist once the run has ended. */
export function RequestLog({ run, agent }: { run: Invocation; agent: string }) {
  const { agent_id, request_id, finished_at } = run
  const mayRead = may('getLogs')
  const log = useResource(mayRead ? `log ${request_id} ${finished_at}` : undefined, async (signal) => {
    return service.logs.list(agent_id, { request_id, sort: 'timestamp', limit: SHOWN }, { signal })
  })
  if (!mayRead) return null
  const lines = log.data?.data
  return (
    <>
      <Failure error={log.error} retry={log.reload} />
      {lines?.length === 0 && <p class="soft">No log entries yet.</p>}
      {lines && lines.length > 0 && (
        <div class="log short" tabIndex={0} role="region" aria-label="Log of this request">
          <ol>
            {lines.map((entry, i) => (
              <LogLine key={i} entry={entry} isAlone />
            ))}
          </ol>
        </div>
      )}
      <a href={href(`${agentPath(agent, 'logs')}?request=${encodeURIComponent(request_id)}`)}>Open in {agent}'s log</a>
    </>
  )
}
