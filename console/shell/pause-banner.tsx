import { type PauseScope, resumeEverything, usePauseState } from '../lib/projects/pause-state.ts'
import { useAction } from '../lib/resource.ts'
import { may, session } from '../lib/session-state.ts'
import { Button } from '../ui/button.tsx'
import { Ago } from '../ui/data/time.tsx'
import { Failure } from '../ui/failure.tsx'
import { Icon } from '../ui/icon.tsx'

/** Shown above every page while the project or the service is paused. */
export function PauseBanner() {
  const state = usePauseState()
  return (
    <>
      {state?.service && <Paused scope="service" {...state.service} />}
      {state?.project && <Paused scope="project" {...state.project} />}
    </>
  )
}

function Paused({ scope, reason, paused_at }: { scope: PauseScope; reason: string; paused_at: string }) {
  const resuming = useAction(() => resumeEverything(scope))
  const mayResume = may('endPause') && (scope === 'project' || session.value?.reach === 'service')
  return (
    <section class="pause-banner" role="alert" aria-label={`The ${scope} is paused`}>
      <Icon name="pause" />
      <p>
        <b>The {scope} is paused:</b> {reason}{' '}
        <span class="since">
          (<Ago time={paused_at} />)
        </span>
      </p>
      {mayResume && (
        <Button icon="play" doing={resuming}>
          Resume
        </Button>
      )}
      <Failure error={resuming.error} />
    </section>
  )
}
