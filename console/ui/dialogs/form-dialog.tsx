import type { ComponentChildren } from 'preact'
import type { Action } from '../../lib/resource.ts'
import { Button } from '../button.tsx'
import { Failure } from '../failure.tsx'
import { Form } from '../forms/form.tsx'
import { Dialog, DialogActions } from './dialog.tsx'

type Props = {
  title: string
  isWide?: boolean
  isGuarded?: boolean
  /** The button's label. Without a label, there is no button yet. */
  action: string | undefined
  doing: Action<[]>
  isBusy?: boolean
  isDanger?: boolean
  disabled?: boolean
  cancel?: string
  onClose(): void
  children: ComponentChildren
}

/** A dialog with fields and a button that sends them. The service's errors are shown above it. */
export function FormDialog({
  action,
  doing,
  isBusy,
  isDanger,
  disabled,
  cancel = 'Cancel',
  children,
  ...dialog
}: Props) {
  return (
    <Dialog {...dialog}>
      <Form onSubmit={() => doing.run()}>
        {children}
        <Failure error={doing.error} />
        <DialogActions>
          <Button onClick={dialog.onClose}>{cancel}</Button>
          {action && (
            <Button
              look={isDanger ? 'danger' : 'main'}
              type="submit"
              isBusy={doing.isBusy || isBusy}
              disabled={disabled}
            >
              {action}
            </Button>
          )}
        </DialogActions>
      </Form>
    </Dialog>
  )
}
