import { useState } from 'preact/hooks'
import type { Agent } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'
import { changesOf } from './definition.ts'

type Values = Record<string, string>

/** The settings that most people change. Tools, rules and security are in the YAML. */
export function DefinitionForm({ agent, onSaved }: { agent: Agent; onSaved(): void }) {
  const [values, setValues] = useState(() => valuesOf(agent))
  const changes = changesOf(agent, wantedOf(agent, values))
  const isChanged = Object.keys(changes).length > 0
  const save = useAction(async () => {
    await service.agents.update(agent.id, changes)
    toast('The working copy is saved')
    onSaved()
  })
  const field = (name: string) => ({
    value: values[name] ?? '',
    error: reasonOf(save.error, name),
    onInput: (value: string) => setValues({ ...values, [name]: value }),
  })
  const number = (name: string, label: string, hint: string) => (
    <Field label={label} hint={hint} inputMode="numeric" pattern="[0-9.]*" {...field(name)} />
  )
  return (
    <Form class="settings" onSubmit={() => save.run()}>
      <fieldset disabled={!may('updateAgent')}>
        <legend>The agent</legend>
        <Field label="Description" hint="For people; the model does not read it." {...field('description')} />
        <Field label="Model" isMono isRequired {...field('model')} />
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
        <legend>Memory</legend>
        <div class="columns">
          <Select
            label="Remember"
            value={values['memory.remember'] ?? ''}
            choices={[
              { value: 'true', label: 'yes' },
              { value: 'false', label: 'no' },
            ]}
            onChange={field('memory.remember').onInput}
          />
          {number('memory.history', 'Turns of the session', 'How many the model is shown')}
          {number('memory.recall', 'Recalled memories', 'How many the model is shown')}
          {number('memory.retention_days', 'Forget after days', 'Empty: never')}
        </div>
      </fieldset>
      <fieldset disabled={!may('updateAgent')}>
        <legend>Limits</legend>
        <div class="columns">
          {number('limits.timeout_ms', 'Longest run, in milliseconds', "Empty: the service's limit")}
          {number('limits.max_concurrency', 'Runs at once', 'Empty: no limit')}
          {number('limits.max_input_tokens', 'Longest prompt, in tokens', 'Empty: what the model takes')}
        </div>
      </fieldset>
      <Failure error={save.error} />
      {may('updateAgent') && (
        <footer class="actions">
          <Button disabled={!isChanged} onClick={() => setValues(valuesOf(agent))}>
            Discard
          </Button>
          <Button look="main" type="submit" isBusy={save.isBusy} disabled={!isChanged}>
            Save
          </Button>
        </footer>
      )}
    </Form>
  )
}

const TEXTS = ['description', 'instructions'] as const
const LIMITS = ['timeout_ms', 'max_steps', 'max_input_tokens', 'max_output_tokens', 'max_concurrency'] as const
const MEMORY = ['history', 'recall', 'retention_days'] as const

function valuesOf(agent: Agent): Values {
  const text = (value: unknown) => (value === null ? '' : String(value))
  return {
    model: agent.model,
    temperature: text(agent.temperature),
    'memory.remember': text(agent.memory.remember),
    ...Object.fromEntries(TEXTS.map((name) => [name, text(agent[name])])),
    ...Object.fromEntries(LIMITS.map((name) => [`limits.${name}`, text(agent.limits[name])])),
    ...Object.fromEntries(MEMORY.map((name) => [`memory.${name}`, text(agent.memory[name])])),
  }
}

/** What the fields say, in the agent's own shape. */
function wantedOf(agent: Agent, values: Values): Record<string, unknown> {
  const text = (name: string) => values[name] || null
  const number = (name: string) => (values[name] ? Number(values[name]) : null)
  return {
    model: values['model']?.trim(),
    temperature: number('temperature'),
    ...Object.fromEntries(TEXTS.map((name) => [name, text(name)])),
    memory: {
      ...agent.memory,
      remember: values['memory.remember'] === 'true',
      ...Object.fromEntries(MEMORY.map((name) => [name, number(`memory.${name}`)])),
    },
    limits: { ...agent.limits, ...Object.fromEntries(LIMITS.map((name) => [name, number(`limits.${name}`)])) },
  }
}
