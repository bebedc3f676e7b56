import { useState } from 'preact/hooks'
import type { Agent, Deployment, MoorageError } from '../../../sdk/client.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Diff } from '../../ui/data/diff.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { nextLabel } from './next-label.ts'

type Props = { agent: Agent; serving: Deployment[]; onClose(): void; onDone(): void; onConflict(): void }

/** Deploys the draft under a new label, after showing what that changes. */
export function DeployDialog({ agent, serving, onClose, onDone, onConflict }: Props) {
  const [environment, setEnvironment] = useState('production')
  const current = serving.find((deployment) => deployment.environment === environment)
  const [typed, setVersion] = useState<string>()
  const earlier = useResource(`labels ${agent.id}`, (signal) =>
    service.deployments.list(agent.id, { limit: 100 }, { signal }),
  )
  // The labels that a rollback serves again are older than others that were created since.
  const made = earlier.data?.data.filter(({ rollback_of }) => rollback_of === null)
  const version = typed ?? (made ? nextLabel(made.map((deployment) => deployment.version)) : '')
  const isProposing = version === '' && earlier.isLoading
  const taken = made?.find((deployment) => deployment.version === version.trim() && deployment.digest !== agent.digest)
  const [message, setMessage] = useState('')
  const [steps, setSteps] = useState('')
  const [warnings, setWarnings] = useState<string[]>()
  const served = useResource(current && `deployment ${current.id}`, (signal) =>
    service.deployments.get(agent.id, current?.id ?? '', { signal }),
  )
  const action = useAction(async () => {
    const label = { environment, version: version.trim(), message: message.trim() || null }
    const body = { ...label, digest: agent.digest, ...(steps.trim() && { strategy: { steps: stepsOf(steps) } }) }
    const deployed = await service.deployments.create(agent.id, body).catch((error: MoorageError) => {
      // The next attempt deploys the draft as it is then, after the reader has seen the changes.
      if (error.code === 'conflict') onConflict()
      throw error
    })
    const { percent } = deployed.progress ?? {}
    toast(
      `${environment} now serves ${body.version}${percent === undefined ? '' : ` for ${percent} % of the messages`}`,
    )
    if (deployed.warnings) setWarnings(deployed.warnings)
    else onDone()
  })
  const before = current && served.data?.id === current.id ? served.data.definition : undefined
  if (warnings) return <Warnings title={`${environment} serves ${version}`} warnings={warnings} onDone={onDone} />
  return (
    <FormDialog
      title={`Deploy ${agent.name}`}
      onClose={onClose}
      isWide
      action={`Deploy ${version} to ${environment}`}
      doing={action}
      isBusy={isProposing}
    >
      <div class="side-by-side">
        <Field
          label="Environment"
          value={environment}
          onInput={setEnvironment}
          error={reasonOf(action.error, 'environment')}
          pattern="[a-z0-9][a-z0-9\-]{0,31}"
          hint={
            current
              ? `Serves ${current.version} now.`
              : 'Lowercase letters, digits and hyphens. The environment serves the draft until its first deployment.'
          }
          isRequired
        />
        <Field
          label="Version"
          value={version}
          onInput={setVersion}
          error={reasonOf(action.error, 'version')}
          hint={
            taken
              ? `${taken.version} already exists and differs from the draft. Choose another label: versions never change.`
              : 'A permanent label. You can reuse an existing label only if its content matches the draft.'
          }
          isRequired
          hasFocus
        />
      </div>
      <Field
        label="Message"
        value={message}
        onInput={setMessage}
        placeholder="What changed?"
        error={reasonOf(action.error, 'message')}
      />
      {current && (
        <Field
          label="Steps"
          value={steps}
          onInput={setSteps}
          placeholder="10:30, 50:60"
          pattern=" *[\d.]+ *: *[\d.]+ *(, *[\d.]+ *: *[\d.]+ *)*"
          error={reasonOf(action.error, 'strategy')}
          hint={`percent:minutes. The version is compared with ${current.version}, and rolled back if it's worse. Leave empty to serve all messages immediately.`}
        />
      )}
      {before && (
        <>
          <h3>
            What changes in {environment}: from {current?.version}, the current version, to the draft
          </h3>
          <Diff label="What changes" from={before} to={partsOf(agent, before)} />
        </>
      )}
      <Failure error={served.error ?? earlier.error} retry={served.error ? served.reload : earlier.reload} />
    </FormDialog>
  )
}

/** Warnings about a finished deployment. They stay until the reader has seen them. */
function Warnings({ title, warnings, onDone }: { title: string; warnings: string[]; onDone(): void }) {
  return (
    <Dialog title={title} onClose={onDone} isWide>
      <div class="stack">
        <p>Deployed, but with the current configuration this will fail:</p>
        <ul class="warnings">
          {warnings.map((warning) => (
            <li key={warning} class="notice">
              {warning}
            </li>
          ))}
        </ul>
        <DialogActions>
          <Button look="main" onClick={onDone}>
            Done
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  )
}

/** `10:30, 50:60` means 10 % for 30 minutes, and then 50 % for an hour. */
function stepsOf(text: string): { percent: number; minutes: number }[] {
  return text.split(',').map((step) => {
    const [percent, minutes] = step.split(':')
    return { percent: Number(percent), minutes: Number(minutes) }
  })
}

/** The agent's fields that a deployment contains. */
function partsOf(agent: Agent, kept: object): object {
  return Object.fromEntries(Object.keys(kept).map((name) => [name, agent[name as keyof Agent]]))
}
