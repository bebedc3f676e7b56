import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { here } from '../../lib/location.ts'
import { Button } from '../button.tsx'

type Props = {
  title: string
  onClose(): void
  /** Prevents closing with Escape, a click outside or the cross. For content that is shown only once. */
  isGuarded?: boolean
  isWide?: boolean
  children: ComponentChildren
}

/** The browser's own modal dialog, which keeps the focus inside and gives it back. */
export function Dialog({ title, onClose, isGuarded = false, isWide = false, children }: Props) {
  const element = useRef<HTMLDialogElement>(null)
  const pressed = useRef<EventTarget | null>(null)
  const id = useId()
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    // Closed before it is removed from the page. Otherwise, the browser wouldn't give the focus back.
    return () => dialog?.close()
  }, [])
  // The page stays until the next one is loaded, but its dialog doesn't.
  const [openedAt] = useState(here.value.path)
  if (here.value.path !== openedAt) return null
  const onCancel = (event: Event) => {
    event.preventDefault()
    if (!isGuarded) onClose()
  }
  // Browsers close a dialog at the second Escape even if the first was cancelled, so the key itself is stopped.
  const onKeyDown = (event: KeyboardEvent) => {
    if (isGuarded && event.key === 'Escape') event.preventDefault()
  }
  // A drag that starts in a field and ends outside the dialog is also a click on the dialog, but it only selects text.
  const onClick = ({ target }: MouseEvent) => {
    const isBeside = target === element.current && pressed.current === element.current
    pressed.current = null
    if (isBeside && !isGuarded) onClose()
  }
  return (
    <dialog
      ref={element}
      class={isWide ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={onCancel}
      onKeyDown={onKeyDown}
      onPointerDown={({ target }) => {
        pressed.current = target
      }}
      onClick={onClick}
    >
      <div class="inside">
        <header>
          <h2 id={id}>{title}</h2>
          {!isGuarded && <Button look="quiet" icon="close" label="Close" onClick={onClose} />}
        </header>
        {children}
      </div>
    </dialog>
  )
}

/** The row of buttons at the end of a dialog. The last one does it. */
export function DialogActions({ children }: { children: ComponentChildren }) {
  return <footer class="actions">{children}</footer>
}
