import { useState } from 'preact/hooks'
import type { Agent, Schedule } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { go } from '../../lib/location.ts'
import { requestPath } from '../../lib/paths.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { exactText, zonedText } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Id } from '../../ui/copy.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { WhoIs } from '../../ui/data/who.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { whenText } from './when-text.ts'

type Props = { agent: Agent; id: string; onClose(): void; onChanged(): void }

/** One schedule: its history, its next times, and its actions. */
export function ScheduleDialog({ agent, id, onClose, onChanged }: Props) {
  const [isEditing, setEditing] = useState(false)
  const schedule = useResource(`schedule ${id}`, (signal) => service.schedules.get(agent.id, id, { signal }))
  const reload = () => {
    schedule.reload()
    onChanged()
  }
  const toggle = useAction(async (enabled: boolean) => {
    await service.schedules.update(agent.id, id, { enabled })
    toast(enabled ? 'Schedule resumed' : 'Schedule paused')
    reload()
  })
  const runNow = useAction(async () => {
    const { request_id } = await service.schedules.run(agent.id, id)
    toast('Run started')
    onClose()
    go(requestPath(request_id))
  })
  const remove = useAction(async () => {
    await service.schedules.delete(agent.id, id)
    toast('Schedule deleted')
    onChanged()
    onClose()
  })
  const found = schedule.data
  if (found && isEditing) {
    return <ScheduleForm agent={agent} schedule={found} onClose={() => setEditing(false)} onSaved={reload} />
  }
  return (
    <Dialog title={found?.name ?? 'Schedule'} onClose={onClose} isWide>
      <div class="stack">
        <Failure error={schedule.error ?? toggle.error ?? runNow.error ?? remove.error} retry={schedule.reload} />
        {found && (
          <>
            <p class="whole">{found.message}</p>
            <ScheduleFacts schedule={found} />
            <div>
              <h3>Next runs</h3>
              {found.next_runs.length === 0 ? (
                <p class="soft">
                  {found.enabled ? 'None: the last scheduled time has passed.' : 'None: the schedule is paused.'}
                </p>
              ) : (
                <ol class="next-runs">
                  {found.next_runs.map((time) => (
                    <li key={time}>
                      {found.timezone === null
                        ? exactText(time)
                        : `${zonedText(time, found.timezone)} ${found.timezone}`}{' '}
                      <span class="soft">{<Ago time={time} />}</span>
                    </li>
                  ))}
                </ol>
              )}
            </div>
            <DialogActions>
              {may('deleteSchedule') && (
                <Button look="danger" doing={remove}>
                  Delete
                </Button>
              )}
              {may('updateSchedule') && (
                <>
                  <Button icon="edit" onClick={() => setEditing(true)}>
                    Change
                  </Button>
                  <Button
                    icon={found.enabled ? 'pause' : 'play'}
                    isBusy={toggle.isBusy}
                    onClick={() => void toggle.run(!found.enabled)}
                  >
                    {found.enabled ? 'Pause' : 'Resume'}
                  </Button>
                </>
              )}
              {may('runSchedule') && (
                <Button look="main" doing={runNow}>
                  Run now
                </Button>
              )}
            </DialogActions>
          </>
        )}
      </div>
    </Dialog>
  )
}

function ScheduleFacts({ schedule }: { schedule: Schedule }) {
  const { last_request_id, last_tick_at, missed, last_missed_at, skipped, last_skipped_at } = schedule
  return (
    <Facts
      of={{
        When: whenText(schedule),
        Environment: schedule.environment,
        Files: schedule.attachments.map(({ name }) => name).join(', ') || undefined,
        'Last run': last_request_id ? (
          <a href={href(requestPath(last_request_id))}>
            <Ago time={last_tick_at} />
          </a>
        ) : (
          'never'
        ),
        Missed:
          missed > 0 ? <Told count={missed} time={last_missed_at} why={schedule.last_missed_reason} /> : undefined,
        Skipped:
          skipped > 0 ? (
            <Told count={skipped} time={last_skipped_at} why="an earlier run was still active" />
          ) : undefined,
        'Last changed by': <WhoIs id={schedule.updated_by} />,
        ID: <Id id={schedule.id} />,
      }}
    />
  )
}

function Told({ count, time, why }: { count: number; time: string | null; why: string | null }) {
  return (
    <>
      {count}{' '}
      <span class="soft">
        {why && `(${why.replaceAll('_', ' ')})`} last <Ago time={time} />
      </span>
    </>
  )
}
