import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useAction } from '../../lib/resource.ts'
import { Field } from '../forms/field.tsx'
import { FormDialog } from './form-dialog.tsx'

type Props = {
  title: string
  /** The button's label, which names the action. */
  action: string
  isDanger?: boolean
  /** The reader must type this text first. Used for large changes that can't be undone. */
  typed?: string
  work(): Promise<void>
  onClose(): void
  /** What will happen. */
  children: ComponentChildren
}

/** Says what will happen, and does it when the reader agrees. It closes by itself when done. */
export function Confirm({ title, action, isDanger = false, typed, work, onClose, children }: Props) {
  const [text, setText] = useState('')
  const doing = useAction(async () => {
    await work()
    onClose()
  })
  return (
    <FormDialog
      title={title}
      action={action}
      doing={doing}
      isDanger={isDanger}
      disabled={typed !== undefined && text !== typed}
      onClose={onClose}
    >
      {children}
      {typed !== undefined && (
        <Field label={`Type ${typed} to confirm`} value={text} onInput={setText} isMono hasFocus />
      )}
    </FormDialog>
  )
}
