import { useState } from 'preact/hooks'
import type { Agent, ToolTest as Tested } from '../../../../sdk/client.ts'
import { jsonIn } from '../../../lib/forms/typed-values.ts'
import { useAction } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { durationText } from '../../../lib/text/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Status } from '../../../ui/data/status.tsx'
import { Failure } from '../../../ui/failure.tsx'
import { Field, Select } from '../../../ui/forms/field.tsx'
import { LongText } from '../../../ui/steps/long-text.tsx'
import { parametersOf, type Tool } from './tool-kinds.ts'

/** Calls the tool as it is in the form, saved or not. */
export function ToolTest({ agent, tool }: { agent: Agent; tool: Tool }) {
  const [name, setName] = useState('')
  const [values, setValues] = useState<Record<string, string>>({})
  const [json, setJson] = useState('{}')
  const [tested, setTested] = useState<Tested | undefined>(undefined)
  const offered = tested?.tools ?? []
  const chosen = offered.find((one) => one.name === name) ?? offered[0]
  const schema = tool.type === 'http' ? tool.input_schema : chosen?.input_schema
  const parameters = schema && parametersOf(schema)
  const isCall = tool.type === 'http' || (tool.type === 'mcp' && chosen !== undefined)
  const run = useAction(async (withCall: boolean) => {
    const typed = parameters ? typedValues(parameters, values) : jsonIn(json)
    const call = { ...(chosen && tool.type === 'mcp' && { name: chosen.name }), arguments: typed }
    const reply = await service.agents.testTool(agent.id, {
      tool,
      ...(withCall && { call: call as { arguments: never } }),
    })
    setTested(reply)
  })
  return (
    <section class="tool-test" aria-label="Test">
      {tool.type === 'mcp' && offered.length > 0 && (
        <Select
          label="Tool"
          value={chosen?.name ?? ''}
          choices={offered.map((one) => ({ value: one.name, label: one.name }))}
          onChange={setName}
          hint={chosen?.description}
        />
      )}
      {isCall &&
        (parameters ? (
          parameters.map((parameter) => (
            <Field
              key={parameter.name}
              label={parameter.name}
              hint={parameter.description}
              value={values[parameter.name] ?? ''}
              onInput={(value) => setValues({ ...values, [parameter.name]: value })}
              onEnter={() => !run.isBusy && void run.run(true)}
            />
          ))
        ) : (
          <Field label="Arguments, as JSON" rows={4} isMono value={json} onInput={setJson} />
        ))}
      <div class="filters">
        {tool.type === 'mcp' && (
          <Button icon="search" isBusy={run.isBusy} onClick={() => void run.run(false)}>
            List tools
          </Button>
        )}
        {isCall && (
          <Button look="main" icon="play" isBusy={run.isBusy} onClick={() => void run.run(true)}>
            Run test
          </Button>
        )}
        <span class="hint">This makes a real call, with real effects, and skips approval.</span>
      </div>
      <Failure error={run.error} />
      {tested && !run.error && <Result tested={tested} />}
    </section>
  )
}

function Result({ tested: { result, error, tools, duration_ms } }: { tested: Tested }) {
  const isListed = result === null && error === null
  return (
    <div role="status" class="stack">
      <p>
        <Status value={error === null ? 'completed' : 'failed'} /> <span class="soft">{durationText(duration_ms)}</span>
      </p>
      {isListed && <p>The server has {tools.length === 1 ? 'one tool' : `${tools.length} tools`}.</p>}
      {error !== null && <p class="wrong">{error}</p>}
      {result !== null && <LongText label="result" text={result} />}
    </div>
  )
}

/** The arguments, converted to the types in the schema. Empty ones aren't sent. */
function typedValues(parameters: readonly { name: string; type: string }[], values: Record<string, string>) {
  const filled = parameters.filter(({ name }) => values[name])
  return Object.fromEntries(
    filled.map(({ name, type }) => {
      const text = values[name] ?? ''
      if (type === 'boolean') return [name, text === 'true']
      return [name, type === 'string' || Number.isNaN(Number(text)) ? text : Number(text)]
    }),
  )
}
