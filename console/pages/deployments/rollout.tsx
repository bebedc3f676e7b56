import { useState } from 'preact/hooks'
import type { Agent, Deployment } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { agentPath, requestPath } from '../../lib/paths.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { counted, countText, durationText, usdText } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Status } from '../../ui/data/status.tsx'
import { type Column, Table } from '../../ui/data/table.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Failure } from '../../ui/failure.tsx'

type Progress = NonNullable<Deployment['progress']>
type Side = { label: string; sum: NonNullable<Progress['candidate']> }

/** A gradual deployment in progress, with what its guard has counted and what a person can do. */
export function Rollout({ agent, deployment, onDone }: { agent: Agent; deployment: Deployment; onDone(): void }) {
  const { id, environment, version, status, progress } = deployment
  const [isAborting, setAborting] = useState(false)
  const action = useAction(async (name: 'promote' | 'pause' | 'resume') => {
    await service.deployments[name](agent.id, id)
    if (name === 'promote') toast(`${environment} now serves ${version}`)
    onDone()
  })
  if (!progress) return null
  const waitsForReplay = progress.step === 0
  return (
    <section aria-label={`${version} in ${environment}`} class="stack">
      <h2>
        {version} in {environment}: {countText(progress.percent)} %
      </h2>
      <p>
        <Status value={status} isLive={status === 'rolling_out'} /> {stepText(deployment, progress)}
        {progress.replay_id && (
          <>
            {' '}
            <a href={href(`${agentPath(agent.name, 'replays')}/${progress.replay_id}`)}>Replay</a>
          </>
        )}
      </p>
      <Evidence deployment={deployment} />
      <Sides progress={progress} version={version} />
      <Failure error={action.error} />
      <div class="row-actions">
        {!waitsForReplay && may('promoteDeployment') && (
          <Button look="main" onClick={() => action.run('promote')}>
            Promote
          </Button>
        )}
        {!waitsForReplay && status === 'rolling_out' && may('pauseDeployment') && (
          <Button onClick={() => action.run('pause')}>Pause</Button>
        )}
        {status === 'paused' && may('resumeDeployment') && <Button onClick={() => action.run('resume')}>Resume</Button>}
        {may('abortDeployment') && <Button onClick={() => setAborting(true)}>Abort</Button>}
      </div>
      {isAborting && (
        <Confirm
          title={`Abort ${version}`}
          action="Abort deployment"
          isDanger
          onClose={() => setAborting(false)}
          work={async () => {
            await service.deployments.abort(agent.id, id)
            toast(`${version} aborted`)
            onDone()
          }}
        >
          <p>The previous version serves all messages again. Active runs finish on {version}.</p>
        </Confirm>
      )}
    </section>
  )
}

const WAITS = {
  replay: 'The version serves no messages until its replay has passed.',
  answers: 'The step ends when both versions have given enough answers.',
  person: 'The version keeps its share of messages until you resume the deployment.',
} as const

function stepText({ strategy }: Deployment, { step, waits_for, minutes_left }: Progress): string {
  const place = step === 0 ? '' : `Step ${step} of ${strategy?.steps.length}. `
  if (waits_for === null) return place
  if (waits_for === 'time') return `${place}The step lasts at least ${counted(Math.ceil(minutes_left), 'more minute')}.`
  return place + WAITS[waits_for]
}

/** Why the guard aborted or paused it, with the runs that show it. */
export function Evidence({ deployment: { evidence } }: { deployment: Deployment }) {
  if (!evidence) return null
  return (
    <p class="notice">
      {evidence.reason}
      {evidence.examples.map((id, i) => (
        <span key={id}>
          {' '}
          <a href={href(requestPath(id))}>Example {i + 1}</a>
        </span>
      ))}
    </p>
  )
}

/** Both versions, a row for each. */
export function Sides({ progress, version }: { progress: Progress; version: string }) {
  const { candidate, serving } = progress
  if (!candidate || !serving) return null
  const rows: Side[] = [
    { label: version, sum: candidate },
    { label: 'previous version', sum: serving },
  ]
  const columns: Column<Side>[] = [
    { title: 'Version', cell: ({ label }) => label },
    { title: 'Answers', isNumber: true, cell: ({ sum }) => countText(sum.answers) },
    { title: 'Failures', isNumber: true, cell: ({ sum }) => countText(sum.failures) },
    { title: 'Duration', isNumber: true, isExtra: true, cell: ({ sum }) => durationText(sum.avg_ms) },
    { title: 'Tokens', isNumber: true, isExtra: true, cell: ({ sum }) => shown(sum.avg_tokens) },
    { title: 'Cost', isNumber: true, isExtra: true, cell: ({ sum }) => usdText(sum.avg_cost_usd) },
    { title: 'Score', isNumber: true, isExtra: true, cell: ({ sum }) => sum.avg_score?.toFixed(2) ?? '–' },
  ]
  return <Table label={`Compared with ${version}`} columns={columns} rows={rows} keyOf={({ label }) => label} />
}

function shown(tokens: number | null): string {
  return tokens === null ? '–' : countText(Math.round(tokens))
}
