import type { Agent, MoorageError } from '../../../sdk/client.ts'
import { param, setParams } from '../../lib/location.ts'
import { type Resource, useAction, useResource } from '../../lib/resource.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Segments } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { DangerZone } from './danger-zone.tsx'
import { DefinitionForm } from './definition-form.tsx'
import { RemoteCheck } from './remote-check.tsx'
import { ToolsForm } from './tools/tools-form.tsx'
import { useDraft } from './use-draft.ts'

export function SettingsPage({ params: { agent = '' } }: { params: Params }) {
  return (
    <AgentFrame
      name={agent}
      tab="settings"
      api={{ operation: 'getAgent', method: 'agents.get', params: { agent_id: agent } }}
    >
      {(loaded, resource) => <Settings agent={loaded} resource={resource} />}
    </AgentFrame>
  )
}

const VIEWS = [
  { value: 'form', label: 'Form' },
  { value: 'tools', label: 'Tools' },
  { value: 'yaml', label: 'YAML' },
]

function Settings({ agent, resource }: { agent: Agent; resource: Resource<Agent> }) {
  const draft = useDraft(agent)
  const save = useAction(async () => {
    const saved = await draft.save().catch((error: MoorageError) => {
      // If the reader discards their changes, the page shows what others have saved.
      if (error.code === 'conflict') resource.reload()
      throw error
    })
    toast('Draft saved')
    resource.replace(saved)
  })
  const discard = () => {
    draft.discard()
    save.forget()
  }
  const { fields } = draft
  // A text that can't be read must be fixed before the fields can show it.
  const view = fields ? (param('view') ?? 'form') : 'yaml'
  const editor = useResource(view === 'yaml' ? 'yaml editor' : undefined, () => import('./definition-yaml.tsx'))
  return (
    <>
      <div class="filters">
        <Segments
          label="View"
          value={view}
          choices={VIEWS}
          onChange={(value) => {
            if (!fields) toast("Fix the marked line first. The form can't show invalid YAML.")
            else setParams({ view: value === 'form' ? undefined : value }, { push: true })
          }}
        />
        <span class="hint">
          You're editing the draft. Environments with a deployment keep serving their version. In all others, changes
          take effect when you save.
        </span>
      </div>
      {draft.isBehind && (
        <p class="notice">
          Someone else changed this agent while you were editing. Saving overwrites only the fields you changed.
        </p>
      )}
      <Form class="settings" onSubmit={() => save.run()}>
        {view === 'yaml' || !fields ? (
          <>
            {editor.data && <editor.data.DefinitionYaml draft={draft} error={save.error} />}
            <Failure error={editor.error} retry={editor.reload} />
          </>
        ) : view === 'tools' ? (
          <ToolsForm
            key={draft.round}
            agent={agent}
            tools={fields.definition.tools}
            error={save.error}
            onChange={draft.setTools}
          />
        ) : (
          <DefinitionForm values={fields.values} before={draft.before} error={save.error} onInput={draft.setValues} />
        )}
        <Failure error={save.error} />
        {may('updateAgent') && (
          <footer class="actions">
            {draft.isChanged && <span class="hint">Unsaved changes (kept in this tab)</span>}
            <Button disabled={!draft.isChanged} onClick={discard}>
              Discard
            </Button>
            <Button look="main" type="submit" isBusy={save.isBusy} disabled={!draft.isChanged}>
              Save
            </Button>
          </footer>
        )}
      </Form>
      {view === 'form' && agent.remote && may('checkRemote') && <RemoteCheck key={agent.digest} agent={agent} />}
      {(may('updateAgent') || may('deleteAgent')) && <DangerZone agent={agent} />}
    </>
  )
}
