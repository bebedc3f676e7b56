import { useState } from 'preact/hooks'
import { isSame } from '../../lib/forms/merge-changes.ts'
import { Field, type FieldProps } from './field.tsx'

type Props<Value> = Omit<FieldProps, 'value' | 'onInput'> & {
  value: Value
  /** Converts a text to a value, and a value to a text. */
  read(text: string): Value
  write(value: Value): string
  onInput(value: Value): void
}

/**
 * A field for a value that isn't text, such as a list of names. The typed text stays as long as it means the same
 * value.
 */
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
