import { Field, type FieldProps } from './field.tsx'

/** A number. Any text can be typed and is sent unchanged, because the service says what is wrong with it. */
export function NumberField(props: Omit<FieldProps, 'type' | 'pattern' | 'inputMode' | 'rows'>) {
  return <Field inputMode="decimal" {...props} />
}
