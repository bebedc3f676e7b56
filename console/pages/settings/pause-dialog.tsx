import type { Agent } from '../../../sdk/client.ts'
import { pause } from '../../lib/agents/pause.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { counted, countText } from '../../lib/text/format.ts'
import { Confirm } from '../../ui/dialogs/confirm.tsx'

/** What a pause cancels, in the words of the sentence that counts them. */
const UNFINISHED = [
  ['running', 'running'],
  ['queued', 'queued'],
  ['waiting', 'waiting'],
] as const

/**
 * Asks for confirmation before an agent is paused, because its runs are cancelled. Their number is updated while the
 * dialog is open.
 */
export function PauseDialog({ agent, onClose }: { agent: Agent; onClose(): void }) {
  const counts = useResource(
    may('listInvocations') ? `unfinished ${agent.id}` : undefined,
    (signal) => Promise.all(UNFINISHED.map(([status]) => countOf(agent.id, status, signal))),
    { everyMs: 2_000 },
  )
  return (
    <Confirm title="Pause agent" action="Pause agent" isDanger onClose={onClose} work={() => pause(agent)}>
      <p role="status">{counts.data ? cancelledText(counts.data) : 'All unfinished runs are cancelled.'}</p>
      <p>
        Until you resume the agent, <b>{agent.name}</b> refuses messages with <code>409 agent_paused</code>, and its
        schedules start no runs.
      </p>
    </Confirm>
  )
}

async function countOf(agent_id: string, status: (typeof UNFINISHED)[number][0], signal: AbortSignal): Promise<number> {
  const { pagination } = await service.invocations.list(agent_id, { status, limit: 1 }, { signal })
  return pagination.total
}

/** `3 runs are cancelled immediately: 1 running, 2 waiting. This can't be undone.` */
function cancelledText(counts: number[]): string {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return 'No runs are active. Any run that starts before you pause is cancelled.'
  const parts = UNFINISHED.flatMap(([, text], i) => (counts[i] ? [`${countText(counts[i])} ${text}`] : []))
  const begin = counted(total, 'run is', 'runs are')
  return `${begin} cancelled immediately: ${parts.join(', ')}. This can't be undone.`
}
