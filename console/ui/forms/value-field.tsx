import { useState } from 'preact/hooks'
import { isSame } from '../../lib/forms/merge-changes.ts'
import { Field, type FieldProps } from './field.tsx'

type Props<Value> = Omit<FieldProps, 'value' | 'onInput'> & {
  value: Value
  /** What a text says, and the text that says a value. */
  read(text: string): Value
  write(value: Value): string
  onInput(value: Value): void
}

/** A field for a value that is no text, such as a list of names. What was typed stays as long as it says the value. */
export function ValueField<Value>({ value, read, write, onInput, ...rest }: Props<Value>) {
  const [typed, setTyped] = useState(() => write(value))
  return (
    <Field
      {...rest}
      value={isSame(read(typed), value) ? typed : write(value)}
      onInput={(text) => {
        setTyped(text)
        onInput(read(text))
      }}
    />
  )
}
