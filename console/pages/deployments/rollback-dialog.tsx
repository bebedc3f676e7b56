import { useState } from 'preact/hooks'
import type { Agent, Deployment, RollbackPreview } from '../../../sdk/client.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { counted } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Diff } from '../../ui/data/diff.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { Icon } from '../../ui/icon.tsx'

type Props = { agent: Agent; deployment: Deployment; onClose(): void; onDone(): void }

/** Shows what is served now and what will be served, says what stays the same, and offers an undo. */
export function RollbackDialog({ agent, deployment, onClose, onDone }: Props) {
  const { id, environment } = deployment
  const [message, setMessage] = useState('')
  const [forgets, setForgets] = useState(false)
  const preview = useResource(`rollback ${id}`, async (signal) => {
    return (await service.deployments.rollback(agent.id, id, { dry_run: true }, { signal })) as RollbackPreview
  })
  const shown = preview.data
  const action = useAction(async () => {
    if (!shown) return
    const { from, to } = shown
    await service.deployments.rollback(agent.id, id, {
      message: message.trim() || null,
      ...(forgets && { forget: true }),
    })
    toast(`${environment} serves ${to.version} again`, async () => {
      await service.deployments.create(agent.id, {
        environment,
        version: from.version,
        message: `Undo of the rollback to ${to.version}`,
      })
      toast(`${environment} serves ${from.version} as before`)
      onDone()
    })
    onDone()
  })
  return (
    <FormDialog
      title={`Roll back ${environment}`}
      action={shown && `Serve ${shown.to.version}`}
      doing={action}
      onClose={onClose}
      isWide
    >
      <Failure error={preview.error} retry={preview.reload} />
      {shown && (
        <>
          <div class="from-to">
            <div>
              <span class="soft">serves now</span>
              <b>{shown.from.version}</b>
              <code class="soft">{shown.from.deployment_id}</code>
            </div>
            <Icon name="right" />
            <div>
              <span class="soft">will serve</span>
              <b>{shown.to.version}</b>
              <code class="soft">{shown.to.deployment_id}</code>
            </div>
          </div>
          <Diff label="What will change" from={sideOf(shown, 'from')} to={sideOf(shown, 'to')} />
          <p class="soft">
            Active runs finish on {shown.from.version}. A rollback doesn't change keys, webhooks, logs or the agent's
            draft.
          </p>
          {shown.memories > 0 && (
            <label class="check">
              <input type="checkbox" checked={forgets} onChange={() => setForgets(!forgets)} />
              Forget this deployment's memories
              <span class="soft">{counted(shown.memories, 'memory', 'memories')}. Undo doesn't bring them back</span>
            </label>
          )}
          <Field
            label="Reason"
            value={message}
            onInput={setMessage}
            placeholder="Shown in the deployment history"
            hasFocus
          />
        </>
      )}
    </FormDialog>
  )
}

function sideOf({ diff }: RollbackPreview, side: 'from' | 'to'): object {
  return Object.fromEntries(diff.map((change) => [change.field, change[side]]))
}
