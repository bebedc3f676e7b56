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
  { value: 'remote', label: 'code of yours, elsewhere' },
  { value: 'a2a', label: 'an A2A agent, elsewhere' },
]

const FACTS = [
  { value: 'off', label: 'no' },
  { value: 'model', label: 'yes, by its own model' },
]

type Props = {
  values: FormValues
  /** What was there before anything was typed. */
  before: FormValues
  error: MoorageError | undefined
  onInput(values: FormValues): void
}

/** The settings that most people change. Rules and security are in the YAML. */
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
  const longestCall = number('remote.timeout_ms', 'Longest call, in milliseconds', 'Empty: as long as the run')
  return (
    <>
      <fieldset disabled={!may('updateAgent')}>
        <legend>The agent</legend>
        <Field label="Description" hint="For people; the model does not read it." {...field('description')} />
        {choice('kind', 'What answers', KINDS, 'Code of yours is called where it runs, and may ask for steps.')}
        {values['kind'] === 'remote' && (
          <div class="columns">
            <Field
              label="Address"
              hint="Is sent a signed POST for each message"
              isMono
              isRequired
              {...field('remote.url')}
            />
            <Field
              label="Secret"
              hint="The name of the secret that signs"
              isMono
              isRequired
              {...field('remote.secret')}
            />
            {longestCall}
          </div>
        )}
        {values['kind'] === 'a2a' && (
          <div class="columns">
            <Field label="Agent card" hint="The URL of its card" isMono isRequired {...field('remote.a2a')} />
            {longestCall}
          </div>
        )}
        <Field
          label="Model"
          hint="provider/model. Begin to type to see what your providers have. With commas: the next one is asked if the one before cannot answer."
          suggestions={models}
          onFocus={() => setChoosing(true)}
          isMono
          isRequired
          {...field('model')}
        />
        <Field
          label="Instructions"
          rows={8}
          hint="What the model is told before every message."
          {...field('instructions')}
        />
        <div class="columns">
          {number('temperature', 'Temperature', "Empty: the model's own")}
          {number('limits.max_output_tokens', 'Longest answer, in tokens', "Empty: the model's own")}
          {number('limits.max_steps', 'Rounds of tools', 'How often the model may ask for tools')}
        </div>
      </fieldset>
      <fieldset disabled={!may('updateAgent')}>
        <legend>Structured answers</legend>
        <Field
          label="JSON Schema of the answer"
          rows={8}
          hint="Every answer is a value that fits it. Empty: the agent answers in words."
          isMono
          {...field('output.schema')}
          error={schemaProblem}
        />
        {number('output.retries', 'Retries', 'How often the model is shown what does not fit. Empty: 2')}
      </fieldset>
      <fieldset disabled={!may('updateAgent')}>
        <legend>Memory</legend>
        <div class="columns">
          {choice('memory.remember', 'Remember', YES_OR_NO)}
          {number('memory.history', 'Turns of the session', 'How many the model is shown')}
          {number('memory.recall', 'Recalled memories', 'How many the model is shown')}
          {number('memory.retention_days', 'Forget after days', 'Empty: never')}
          {number('memory.summarize', 'Summarize after turns', 'Empty: no summary of long sessions')}
          {choice('memory.facts', 'Write down facts', FACTS, 'When a conversation has fallen silent')}
        </div>
      </fieldset>
      <fieldset disabled={!may('updateAgent')}>
        <legend>Limits</legend>
        <div class="columns">
          {number('limits.timeout_ms', 'Longest run, in milliseconds', "Empty: the service's limit")}
          {number('limits.max_concurrency', 'Runs at once', 'Empty: no limit')}
          {number('limits.max_input_tokens', 'Longest prompt, in tokens', 'Empty: what the model takes')}
          {number('limits.max_tool_calls', 'Calls of tools in a run', 'Empty: no limit')}
          {number('limits.max_tokens_per_run', 'Tokens of a run', 'Empty: no limit')}
          {number('limits.max_cost_per_run', 'Cost of a run, in US dollars', 'Empty: no limit')}
        </div>
      </fieldset>
      <fieldset disabled={!may('updateAgent')}>
        <legend>Approvals</legend>
        <div class="columns">
          {choice('approvals.self', 'Who asked may decide', YES_OR_NO)}
          {number('approvals.expires_after_seconds', 'Rejected after seconds', 'If no person has decided by then')}
        </div>
      </fieldset>
    </>
  )
}
