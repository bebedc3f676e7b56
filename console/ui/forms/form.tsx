import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { MoorageError } from '../../../sdk/client.ts'
import { reasonOf } from '../failure.tsx'

type Props = { class?: string; onSubmit(): unknown; children: ComponentChildren }

/** Fields that are sent by a button or the Enter key without leaving the page. */
export function Form({ class: name, onSubmit, children }: Props) {
  const element = useRef<HTMLFormElement>(null)
  const submit = async () => {
    // Errors that the form finds itself are shown next to the field, where the browser's bubble would cover the hint.
    if (element.current?.checkValidity()) await onSubmit()
    // Shows the first field that the service found invalid, even if it was scrolled out of view or collapsed.
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

/** What the fields of a form have in common: their values, and what the service found wrong with each. */
export function fieldsOf<Values extends Record<string, unknown>>(
  values: Values,
  setValues: (values: Values) => void,
  error: MoorageError | undefined,
) {
  return <Name extends keyof Values & string>(name: Name, path: string = name) => ({
    value: values[name],
    error: reasonOf(error, path),
    onInput: (value: Values[Name]) => setValues({ ...values, [name]: value }),
  })
}
