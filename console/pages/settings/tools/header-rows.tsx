import { useState } from 'preact/hooks'
import { href } from '../../../lib/base.ts'
import { may } from '../../../lib/session-state.ts'
import { Field } from '../../../ui/forms/field.tsx'
import { Rows } from './rows.tsx'
import type { ProjectNames } from './tool-kinds.ts'

type Props = {
  headers: Record<string, string>
  names: ProjectNames
  onChange(headers: Record<string, string>): void
  error?: string | undefined
}

type Row = { name: string; value: string }

/** A tool's headers. Secrets are only named, never written out. */
export function HeaderRows({ headers, names, onChange, error }: Props) {
  const [rows, setRows] = useState<Row[]>(() => Object.entries(headers).map(([name, value]) => ({ name, value })))
  const offered = [
    ...names.secrets.flatMap((name) => [`Bearer {{secret.${name}}}`, `{{secret.${name}}}`]),
    ...names.connections.map((name) => `Bearer {{connection.${name}}}`),
  ]
  const change = (next: Row[]) => {
    setRows(next)
    onChange(Object.fromEntries(next.filter(({ name }) => name.trim()).map(({ name, value }) => [name.trim(), value])))
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
          Refer to a secret or a connection by name: <code>{'Bearer {{secret.NAME}}'}</code>,{' '}
          <code>{'Bearer {{connection.NAME}}'}</code>.{' '}
          {may('listSecrets') && <a href={href('/connections?view=secrets')}>Manage secrets</a>}
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
            problem={problemOf(row, rows)}
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

/** Rows that would be lost: a value without a name, or a header that is named twice. */
function problemOf(row: Row, rows: readonly Row[]): string | undefined {
  const nameOf = ({ name }: Row) => name.trim().toLowerCase()
  if (!nameOf(row)) return row.value ? 'A header needs a name' : undefined
  return rows.some((other) => other !== row && nameOf(other) === nameOf(row)) ? `${row.name} is used twice` : undefined
}
