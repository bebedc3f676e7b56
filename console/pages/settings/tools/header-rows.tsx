import { useState } from 'preact/hooks'
import { href } from '../../../lib/base.ts'
import { may } from '../../../lib/session-state.ts'
import { Field } from '../../../ui/forms/field.tsx'
import { Rows } from './rows.tsx'

type Props = {
  headers: Record<string, string>
  /** The names of the secrets that there are. */
  secrets: readonly string[]
  onChange(headers: Record<string, string>): void
  error?: string | undefined
}

/** The headers of a tool. A secret is named, never written. */
export function HeaderRows({ headers, secrets, onChange, error }: Props) {
  const [rows, setRows] = useState(() => Object.entries(headers).map(([name, value]) => ({ name, value })))
  const offered = secrets.flatMap((name) => [`Bearer {{secret.${name}}}`, `{{secret.${name}}}`])
  const change = (next: typeof rows) => {
    setRows(next)
    onChange(Object.fromEntries(next.filter(({ name }) => name).map(({ name, value }) => [name.trim(), value])))
  }
  return (
    <Rows
      legend="Headers"
      one="header"
      rows={rows}
      fresh={{ name: rows.length === 0 ? 'Authorization' : '', value: '' }}
      onChange={change}
      error={error}
      hint={
        <>
          A secret stands here by its name: <code>{'Bearer {{secret.NAME}}'}</code>.{' '}
          {may('listSecrets') && <a href={href('/connections?view=secrets')}>Your secrets</a>}
        </>
      }
    >
      {(row, set, i) => (
        <>
          <Field
            label={`Header ${i + 1}`}
            isBare
            isMono
            value={row.name}
            onInput={(name) => set({ name })}
            placeholder="Name"
          />
          <Field
            label={`Value of header ${i + 1}`}
            isBare
            isMono
            value={row.value}
            suggestions={offered}
            onInput={(value) => set({ value })}
            placeholder="Value"
          />
        </>
      )}
    </Rows>
  )
}
