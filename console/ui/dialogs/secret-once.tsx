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
  /** The variable from which programs read it, if any. */
  variable?: string
  /** What the reader must confirm before the dialog closes. */
  stored?: string
  onDone(): void
}

/**
 * Shows a secret that can never be shown again. It doesn't close until the reader confirms that it is stored, even if
 * the session ends in the meantime.
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
