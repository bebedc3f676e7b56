import { useState } from 'preact/hooks'
import { projects } from '../../lib/projects/chosen-project.ts'
import { type PauseScope, pauseEverything } from '../../lib/projects/pause-state.ts'
import { session } from '../../lib/session-state.ts'
import { Field, Segments } from '../forms/field.tsx'
import { Confirm } from './confirm.tsx'

const SCOPES = [
  { value: 'project', label: 'This project' },
  { value: 'service', label: 'The whole service' },
]

/** Asks for a reason, and whether to pause all projects. A service that doesn't use projects doesn't mention them. */
export function PauseEverything({ onClose }: { onClose(): void }) {
  const [reason, setReason] = useState('')
  const isOfAll = session.value?.reach === 'service'
  const hasChoice = isOfAll && projects.value.length > 0
  const [scope, setScope] = useState<PauseScope>(isOfAll && !hasChoice ? 'service' : 'project')
  return (
    <Confirm
      title="Pause everything"
      action={scope === 'service' ? 'Pause service' : 'Pause project'}
      isDanger
      onClose={onClose}
      work={() => pauseEverything(reason.trim(), scope)}
    >
      {hasChoice && (
        <Segments
          label="What to pause"
          value={scope}
          choices={SCOPES}
          onChange={(chosen) => setScope(chosen as PauseScope)}
        />
      )}
      <p>
        Everything that can cost money stops within a second: active runs wait, new messages get{' '}
        <code>409 agent_paused</code>, and schedules and work on memory wait. Nothing is lost: everything continues when
        you resume.
      </p>
      <Field
        label="Reason"
        value={reason}
        onInput={setReason}
        hint="Shown to API clients and to everyone in the console."
        isRequired
        hasFocus
      />
    </Confirm>
  )
}
