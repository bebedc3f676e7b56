import { useState } from 'preact/hooks'
import type { MoorageError } from '../../../sdk/client.ts'
import { useModelNames } from '../../lib/agents/model-names.ts'
import { jsonProblem } from '../../lib/forms/typed-values.ts'
import { may } from '../../lib/session-state.ts'
import { reasonOf, reasonWithin } from '../../ui/failure.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import { NumberField } from '../../ui/forms/number-field.tsx'
import type { FormValues } from './form-values.ts'

const YES_OR_NO = [
  { value: 'true', label: 'yes' },
  { value: 'false', label: 'no' },
]

const KINDS = [
  { value: 'model', label: 'a model' },
  { value: 'remote', label: 'your own code (remote agent)' },
  { value: 'a2a', label: 'an external A2A agent' },
]

const FACTS = [
  { value: 'off', label: 'no' },
  { value: 'model', label: "with the agent's own model" },
]

const WHILE_BUSY = [
  { value: 'queue', label: 'waits for its turn' },
  { value: 'reject', label: 'is rejected' },
  { value: 'cancel', label: 'cancels the other run' },
  { value: 'parallel', label: 'runs at the same time' },
]

type Props = {
  values: FormValues
  /** The values before anything was typed. */
  before: FormValues
  error: MoorageError | undefined
  onInput(values: FormValues): void
}

/** The settings that most people change. Rules and security are only in the YAML. */
export function DefinitionForm({ values, before, error, onInput }: Props) {
  const [isChoosing, setChoosing] = useState(false)
  const models = useModelNames(isChoosing)
  const field = (name: string) => ({
    value: values[name] ?? '',
    error: reasonOf(error, name),
    isChanged: values[name] !== before[name],
    onInput: (value: string) => onInput({ ...values, [name]: value }),
  })
  const number = (name: string, label: string, hint: string) => (
    <NumberField label={label} hint={hint} {...field(name)} />
  )
  const choice = (name: string, label: string, choices: typeof FACTS, hint?: string) => {
    const { onInput: onChange, ...rest } = field(name)
    return <Select label={label} hint={hint} choices={choices} onChange={onChange} {...rest} />
  }
  const schema = reasonWithin(error, 'output.schema')
  const schemaProblem = schema && (jsonProblem(values['output.schema'] ?? '') ?? schema)
  const longestCall = number('remote.timeout_ms', 'Request timeout (ms)', "Default: the run's timeout")
  return (
    <>
      <fieldset disabled={!may('updateAgent')}>
        <legend>The agent</legend>
        <Field label="Description" hint="Shown to people. The model doesn't see it." {...field('description')} />
        {choice('kind', 'Runs as', KINDS, 'Remote agents run on your own server. Moorage calls them over HTTP.')}
        {values['kind'] === 'remote' && (
          <div class="columns">
            <Field
              label="URL"
              hint="Receives a signed POST request for each message"
              isMono
              isRequired
              {...field('remote.url')}
            />
            <Field
              label="Secret"
              hint="Name of the secret that signs requests"
              isMono
              isRequired
              {...field('remote.secret')}
            />
            {longestCall}
          </div>
        )}
        {values['kind'] === 'a2a' && (
          <div class="columns">
            <Field label="Agent card" hint="URL of the agent card" isMono isRequired {...field('remote.a2a')} />
            {longestCall}
          </div>
        )}
        <Field
          label="Model"
          hint="provider/model. Start typing to see your providers' models. Separate fallback models with commas; they're tried in order."
          suggestions={models}
          onFocus={() => setChoosing(true)}
          isMono
          isRequired
          {...field('model')}
        />
        <Field
          label="Instructions"
          rows={8}
          hint="The system prompt. Sent to the model with every message."
          {...field('instructions')}
        />
        <div class="columns">
          {number('temperature', 'Temperature', "Leave empty for the model's default")}
          {number('limits.max_output_tokens', 'Max output tokens', "Default: the model's limit")}
          {number('limits.max_steps', 'Max steps', 'Maximum model calls in one run')}
        </div>
      </fieldset>
      <fieldset disabled={!may('updateAgent')}>
        <legend>Structured output</legend>
        <Field
          label="Output schema (JSON Schema)"
          rows={8}
          hint="Every answer must match this schema. Leave empty for plain text answers."
          isMono
          {...field('output.schema')}
          error={schemaProblem}
        />
        {number(
          'output.retries',
          'Retries',
          "How many times to ask again when an answer doesn't match the schema. Default: 2",
        )}
      </fieldset>
      <fieldset disabled={!may('updateAgent')}>
        <legend>Memory</legend>
        <div class="columns">
          {choice('memory.remember', 'Remember', YES_OR_NO)}
          {number('memory.history', 'Session history', 'Number of turns sent to the model')}
          {number('memory.recall', 'Recalled memories', 'Number of memories sent to the model')}
          {number('memory.retention_days', 'Delete memories after (days)', 'Leave empty to keep them')}
          {number('memory.summarize', 'Summarize after (turns)', 'Leave empty to turn summaries off')}
          {choice('memory.facts', 'Extract facts', FACTS, 'After 10 minutes without a message, or 40 new turns')}
        </div>
      </fieldset>
      <fieldset disabled={!may('updateAgent')}>
        <legend>Limits</legend>
        <div class="columns">
          {number('limits.timeout_ms', 'Timeout (ms)', "Default: the service's limit")}
          {number('limits.max_concurrency', 'Max concurrent runs', 'Leave empty for no limit')}
          {number('limits.max_input_tokens', 'Max input tokens', "Default: the model's context window")}
          {number('limits.max_tool_calls', 'Max tool calls per run', 'Leave empty for no limit')}
          {number('limits.max_tokens_per_run', 'Max tokens per run', 'Leave empty for no limit')}
          {number('limits.max_cost_per_run', 'Max cost per run (USD)', 'Leave empty for no limit')}
        </div>
        {choice('sessions.while_busy', 'While another run of its session is in progress, a message', WHILE_BUSY)}
      </fieldset>
      <fieldset disabled={!may('updateAgent')}>
        <legend>Approvals</legend>
        <div class="columns">
          {choice('approvals.self', 'Allow the requester to decide', YES_OR_NO)}
          {number(
            'approvals.expires_after_seconds',
            'Reject automatically after (seconds)',
            'If no one decides in time',
          )}
        </div>
      </fieldset>
    </>
  )
}
