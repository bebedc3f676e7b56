import { useLayoutEffect, useState } from 'preact/hooks'
import { holdPage } from '../../lib/session.ts'
import { Button } from '../button.tsx'
import { Snippet } from '../copy.tsx'
import { Dialog, DialogActions } from './dialog.tsx'

type Props = {
  title: string
  secret: string
  /** What it is. */
  label?: string
  about?: string
  /** The variable that programs read it from, if they do. */
  variable?: string
  /** What the reader says before the dialog closes. */
  stored?: string
  onDone(): void
}

/**
 * Shows a secret that can never be shown again. It does not close before the reader says that it is stored, also if the
 * session ends meanwhile.
 */
export function SecretOnce({
  title,
  secret,
  label = 'secret',
  about = 'This secret is shown only once. Store it in a safe place.',
  variable,
  stored = "I've stored it",
  onDone,
}: Props) {
  const [isStored, setStored] = useState(false)
  useLayoutEffect(holdPage, [])
  return (
    <Dialog title={title} onClose={onDone} isGuarded>
      <div class="stack">
        <p class="notice">{about}</p>
        <Snippet label={label} text={secret} />
        {variable && <Snippet label="shell command" text={`export ${variable}='${secret}'`} />}
        <label class="check">
          <input type="checkbox" checked={isStored} onChange={() => setStored(!isStored)} />
          {stored}
        </label>
        <DialogActions>
          <Button look="main" disabled={!isStored} onClick={onDone}>
            Done
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  )
}
