import { useState } from 'preact/hooks'
import { jsonIn, jsonProblem } from '../../../lib/forms/typed-values.ts'
import { Button } from '../../../ui/button.tsx'
import { Field, Select } from '../../../ui/forms/field.tsx'
import { ValueField } from '../../../ui/forms/value-field.tsx'
import { Rows } from './rows.tsx'
import { type HttpTool, namesInUrl, PARAMETER_TYPES, type Parameter, parametersOf, schemaOf } from './tool-kinds.ts'

type Props = { tool: HttpTool; onChange(schema: HttpTool['input_schema']): void; error: string | undefined }

const FRESH: Parameter = { name: '', type: 'string', description: '', isRequired: true }

/** The parameters that the model fills in. A schema that can't be shown in rows is edited as JSON. */
export function ParameterRows({ tool, onChange, error }: Props) {
  const [rows, setRows] = useState(() => parametersOf(tool.input_schema))
  if (!rows) {
    const problem = error && typeof tool.input_schema === 'string' ? jsonProblem(tool.input_schema) : undefined
    return (
      <ValueField<unknown>
        label="Parameters, as JSON Schema"
        rows={8}
        isMono
        value={tool.input_schema}
        read={jsonIn}
        write={(schema) => (typeof schema === 'string' ? schema : JSON.stringify(schema, null, 2))}
        onInput={(schema) => onChange(schema as HttpTool['input_schema'])}
        error={problem ?? error}
      />
    )
  }
  const change = (next: Parameter[]) => {
    setRows(next)
    onChange(schemaOf(next, tool.input_schema))
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
        hint="Arguments the model provides. Arguments that aren't used in the URL are sent in the query string or as a JSON body."
      >
        {(row, set, i) => (
          <>
            <Field
              label={`Name of parameter ${i + 1}`}
              isBare
              isMono
              value={row.name}
              onInput={(name) => set({ name })}
              problem={problemOf(row, rows)}
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
              placeholder="Description"
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
          The URL uses {missing.join(', ')}.{' '}
          <Button icon="plus" onClick={() => change([...rows, ...missing.map((name) => ({ ...FRESH, name }))])}>
            Add as parameters
          </Button>
        </p>
      )}
    </>
  )
}

/** Rows that would be lost: a parameter without a name, or with another one's name. */
function problemOf(row: Parameter, rows: readonly Parameter[]): string | undefined {
  if (!row.name) return row.description ? 'A parameter needs a name' : undefined
  return rows.some((other) => other !== row && other.name === row.name) ? `${row.name} is used twice` : undefined
}
