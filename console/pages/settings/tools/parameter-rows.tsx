import { useState } from 'preact/hooks'
import { Button } from '../../../ui/button.tsx'
import { Field, Select } from '../../../ui/forms/field.tsx'
import { Rows } from './rows.tsx'
import { type HttpTool, namesInUrl, PARAMETER_TYPES, type Parameter, parametersOf, schemaOf } from './tool-kinds.ts'

type Props = { tool: HttpTool; onChange(schema: HttpTool['input_schema']): void; error: string | undefined }

const FRESH: Parameter = { name: '', type: 'string', description: '', isRequired: true }

/** What the model may fill in. A schema that says more than rows can show is JSON. */
export function ParameterRows({ tool, onChange, error }: Props) {
  const [rows, setRows] = useState(() => parametersOf(tool.input_schema))
  const [json, setJson] = useState(() => JSON.stringify(tool.input_schema, null, 2))
  if (!rows) {
    return (
      <Field
        label="Parameters, as JSON Schema"
        rows={8}
        isMono
        value={json}
        error={error ?? (read(json) ? undefined : 'This is not JSON')}
        onInput={(text) => {
          setJson(text)
          const schema = read(text)
          if (schema) onChange(schema)
        }}
      />
    )
  }
  const change = (next: Parameter[]) => {
    setRows(next)
    onChange(schemaOf(next))
  }
  const missing = namesInUrl(tool.url).filter((name) => !rows.some((row) => row.name === name))
  return (
    <>
      <Rows
        legend="Parameters"
        one="parameter"
        rows={rows}
        fresh={FRESH}
        onChange={change}
        error={error}
        hint="What the model fills in. Those that the address does not name go into the query, or into a JSON body."
      >
        {(row, set, i) => (
          <>
            <Field
              label={`Name of parameter ${i + 1}`}
              isBare
              isMono
              value={row.name}
              onInput={(name) => set({ name })}
              placeholder="name"
            />
            <Select
              label={`Type of parameter ${i + 1}`}
              isBare
              value={row.type}
              choices={PARAMETER_TYPES.map((value) => ({ value, label: value }))}
              onChange={(type) => set({ type })}
            />
            <Field
              label={`Description of parameter ${i + 1}`}
              isBare
              value={row.description}
              onInput={(description) => set({ description })}
              placeholder="What it means"
            />
            <label class="check">
              <input type="checkbox" checked={row.isRequired} onChange={() => set({ isRequired: !row.isRequired })} />
              required
            </label>
          </>
        )}
      </Rows>
      {missing.length > 0 && (
        <p class="notice">
          The address names {missing.join(', ')}.{' '}
          <Button icon="plus" onClick={() => change([...rows, ...missing.map((name) => ({ ...FRESH, name }))])}>
            Add as parameters
          </Button>
        </p>
      )}
    </>
  )
}

function read(text: string): HttpTool['input_schema'] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as HttpTool['input_schema']) : undefined
  } catch {
    return undefined
  }
}
