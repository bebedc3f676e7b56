import type { ComponentChildren } from 'preact'
import { Button } from '../../../ui/button.tsx'

type Props<Row> = {
  legend: string
  hint?: ComponentChildren
  /** The word for one row, such as `header`. */
  one: string
  rows: readonly Row[]
  fresh: Row
  onChange(rows: Row[]): void
  error?: string | undefined
  children(row: Row, change: (changes: Partial<Row>) => void, index: number): ComponentChildren
}

/** A list of rows with fields, which the reader can add, change and remove. */
export function Rows<Row extends object>({ legend, hint, one, rows, fresh, onChange, error, children }: Props<Row>) {
  return (
    <fieldset class="form-rows">
      <legend>{legend}</legend>
      {hint && <p class="hint">{hint}</p>}
      {rows.map((row, i) => (
        <div key={i} class="form-row">
          {children(row, (changes) => onChange(rows.with(i, { ...row, ...changes })), i)}
          <Button
            look="quiet"
            icon="close"
            label={`Remove ${one} ${i + 1}`}
            onClick={() => onChange(rows.toSpliced(i, 1))}
          />
        </div>
      ))}
      {error && <p class="wrong">{error}</p>}
      <div>
        <Button icon="plus" onClick={() => onChange([...rows, fresh])}>
          {`Add ${one}`}
        </Button>
      </div>
    </fieldset>
  )
}
