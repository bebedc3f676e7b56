import type { ComponentChildren } from 'preact'

type Props = { class?: string; onSubmit(): unknown; children: ComponentChildren }

/** Fields that are sent by a button or the Enter key, without leaving the page. */
export function Form({ class: name, onSubmit, children }: Props) {
  return (
    <form
      class={name}
      onSubmit={(event) => {
        event.preventDefault()
        void onSubmit()
      }}
    >
      {children}
    </form>
  )
}
