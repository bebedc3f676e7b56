import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useAction } from '../../lib/resource.ts'
import { Button } from '../button.tsx'
import { Failure } from '../failure.tsx'
import { Field } from '../forms/field.tsx'
import { Form } from '../forms/form.tsx'
import { Dialog, DialogActions } from './dialog.tsx'

type Props = {
  title: string
  /** What the button says: the thing that it does. */
  action: string
  isDanger?: boolean
  /** The reader has to type this text first. Used for large changes that cannot be undone. */
  typed?: string
  work(): Promise<void>
  onClose(): void
  /** What will happen. */
  children: ComponentChildren
}

/** Says what will happen, and does it when the reader agrees. Closes itself when it is done. */
export function Confirm({ title, action, isDanger = false, typed, work, onClose, children }: Props) {
  const [text, setText] = useState('')
  const doing = useAction(async () => {
    await work()
    onClose()
  })
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={() => doing.run()}>
        {children}
        {typed !== undefined && (
          <Field label={`Type ${typed} to go on`} value={text} onInput={setText} isMono hasFocus />
        )}
        <Failure error={doing.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look={isDanger ? 'danger' : 'main'}
            type="submit"
            isBusy={doing.isBusy}
            disabled={typed !== undefined && text !== typed}
          >
            {action}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
