import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'

type Props = { class?: string; onSubmit(): unknown; children: ComponentChildren }

/** Fields that are sent by a button or the Enter key, without leaving the page. */
export function Form({ class: name, onSubmit, children }: Props) {
  const element = useRef<HTMLFormElement>(null)
  const submit = async () => {
    // What the form itself finds wrong is shown next to the field, where a bubble of the browser would cover the hint.
    if (element.current?.checkValidity()) await onSubmit()
    // The reader sees the first field that the service found wrong, also if it was scrolled or folded away.
    requestAnimationFrame(() => {
      const wrong = element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')
      const folded = wrong?.closest('details')
      if (folded) folded.open = true
      wrong?.focus()
    })
  }
  return (
    <form
      ref={element}
      class={name}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      {children}
    </form>
  )
}
