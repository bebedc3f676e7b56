import type { Invocation } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { requestPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { durationText } from '../../lib/text/format.ts'
import { Status } from '../../ui/data/status.tsx'
import { Failure } from '../../ui/failure.tsx'

const LIVE_MS = 1_500

type Props = { run: Invocation; names: ReadonlyMap<string, string> | undefined }

/** Whether a run has called agents. An active run may be waiting for runs that it called. */
export function hasCalled({ steps, finished_at }: Invocation): boolean {
  return finished_at === null || steps.some((step) => step.kind === 'tool' && step.child)
}

/** The runs that a run has called as tools, and the runs that those have called, as a tree. */
export function CalledRuns({ run, names }: Props) {
  const { request_id } = run
  const called = useResource(
    `called ${request_id}`,
    (signal) =>
      service.invocations.listAll({ parent_request_id: request_id, limit: 100, sort: 'created_at' }, { signal }),
    { everyMs: () => (run.finished_at === null ? LIVE_MS : undefined) },
  )
  return (
    <>
      <Failure error={called.error} retry={called.reload} />
      {called.data && called.data.data.length > 0 && (
        <ul class="plain-list">
          {called.data.data.map((child) => (
            <li key={child.request_id}>
              <a href={href(requestPath(child.request_id))}>{names?.get(child.agent_id) ?? child.agent_id}</a>{' '}
              <Status value={child.status} isLive={child.status === 'running'} />{' '}
              <span class="soft">{durationText(child.duration_ms)}</span>
              {hasCalled(child) && <CalledRuns run={child} names={names} />}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
