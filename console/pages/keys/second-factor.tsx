import { useState } from 'preact/hooks'
import type { KeyFactor, NewKeyFactor } from '../../../sdk/client.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may, session } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Snippet } from '../../ui/copy.tsx'
import { Status } from '../../ui/data/status.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { QrCode } from './qr-code.tsx'

/** Whether the key has a second factor, and the way to add one. */
export function SecondFactor({ key_id }: { key_id: string }) {
  const [enrolled, setEnrolled] = useState<NewKeyFactor>()
  const [isRemoving, setRemoving] = useState(false)
  const factor = useResource(`factor ${key_id}`, (signal) => service.mfa.get(key_id, { signal }))
  const enrol = useAction(async () => setEnrolled(await service.mfa.enrol(key_id)))
  const found = factor.data
  const isOwn = session.value?.actor_id === key_id
  return (
    <section aria-label="Second factor">
      <div class="section-head">
        <h2>Second factor</h2>
        {found && <FactorState factor={found} />}
        {found && found.status !== 'active' && may('enrolFactor') && !isOwn && <Button doing={enrol}>Set up</Button>}
        {found && found.status !== 'none' && may('removeFactor') && !isOwn && (
          <Button look="danger" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        )}
      </div>
      <p class="hint">
        A one-time code from an authenticator app. Some operations require it, depending on the security settings of the
        service and the agent.{' '}
        {isOwn
          ? "A key can't set up its own second factor. Use another key that has one, or run this on the server:"
          : 'To set up a second factor, you need a one-time code for your own key.'}
      </p>
      {isOwn && found?.status === 'none' && <Snippet label="command" text={`moorage mfa enrol ${key_id} --local`} />}
      <Failure error={factor.error ?? enrol.error} retry={factor.reload} />
      {enrolled && (
        <EnrolDialog
          enrolled={enrolled}
          onClose={() => {
            setEnrolled(undefined)
            factor.reload()
          }}
        />
      )}
      {isRemoving && (
        <Confirm
          title="Remove second factor"
          action="Remove factor"
          isDanger
          onClose={() => setRemoving(false)}
          work={async () => {
            await service.mfa.remove(key_id)
            toast('Second factor removed')
            factor.reload()
          }}
        >
          <p>
            The key can no longer provide one-time codes. Requests that require a code are refused until the key has a
            second factor again.
          </p>
        </Confirm>
      )}
    </section>
  )
}

function FactorState({ factor: { status, locked_until, created_at } }: { factor: KeyFactor }) {
  return (
    <>
      <Status value={status} />
      {created_at && (
        <span class="soft">
          since <Ago time={created_at} />
        </span>
      )}
      {locked_until && (
        <span class="wrong">
          too many wrong codes; locked until <Ago time={locked_until} />
        </span>
      )}
    </>
  )
}

function EnrolDialog({ enrolled, onClose }: { enrolled: NewKeyFactor; onClose(): void }) {
  const [code, setCode] = useState('')
  const confirm = useAction(async () => {
    await service.mfa.confirm(enrolled.key_id, code.replaceAll(' ', ''))
    toast('Second factor set up')
    onClose()
  })
  return (
    <FormDialog title="Set up second factor" onClose={onClose} isGuarded action="Confirm" doing={confirm}>
      <p>Scan this code with an authenticator app, or type the secret into the app. The secret is shown only once.</p>
      <QrCode text={enrolled.uri} label="QR code for the authenticator app" />
      <Snippet label="secret" text={enrolled.secret} />
      <Field
        label="Code from the app"
        value={code}
        onInput={setCode}
        inputMode="numeric"
        autoComplete="one-time-code"
        error={reasonOf(confirm.error, 'code')}
        isRequired
        isMono
      />
    </FormDialog>
  )
}
