import { useState } from 'preact/hooks'
import { type Agent, MoorageError } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { yamlText } from '../../lib/text/yaml-text.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Snippet } from '../../ui/copy.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'
import { changesOf, definitionOf } from './definition.ts'

/** The whole definition as text. The service checks it as it checks the form. */
export function DefinitionYaml({ agent, onSaved }: { agent: Agent; onSaved(saved: Agent): void }) {
  const known = yamlText(definitionOf(agent))
  const [text, setText] = useState(known)
  const save = useAction(async () => {
    const changes = changesOf(agent, await parse(text))
    const saved = Object.keys(changes).length > 0 ? await service.agents.update(agent.id, changes) : agent
    toast('The working copy is saved')
    onSaved(saved)
  })
  if (!may('updateAgent')) return <Snippet label="definition" text={known} />
  return (
    <Form class="settings" onSubmit={() => save.run()}>
      <Field label="Definition" rows={26} value={text} onInput={setText} isMono />
      <Failure error={save.error} />
      <footer class="actions">
        <Button disabled={text === known} onClick={() => setText(known)}>
          Discard
        </Button>
        <Button look="main" type="submit" isBusy={save.isBusy} disabled={text === known}>
          Save
        </Button>
      </footer>
    </Form>
  )
}

async function parse(text: string): Promise<Record<string, unknown>> {
  const { load } = await import('./yaml-load.ts')
  let value: unknown
  try {
    value = load(text)
  } catch (error) {
    throw new MoorageError('invalid_request', `This is not YAML: ${(error as Error).message}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new MoorageError('invalid_request', 'A definition has fields, each with its name and a colon')
}
