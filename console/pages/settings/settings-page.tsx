import type { Agent } from '../../../sdk/client.ts'
import { param, setParams } from '../../lib/location.ts'
import type { Resource } from '../../lib/resource.ts'
import { may } from '../../lib/session-state.ts'
import type { Params } from '../../routes.ts'
import { Segments } from '../../ui/forms/field.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { DangerZone } from './danger-zone.tsx'
import { DefinitionForm } from './definition-form.tsx'
import { DefinitionYaml } from './definition-yaml.tsx'

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

function Settings({ agent, resource }: { agent: Agent; resource: Resource<Agent> }) {
  const view = param('view') ?? 'form'
  // The digest changes with the definition. The fields then start again from the new one, also when somebody else changed it.
  const props = { key: agent.digest, agent, onSaved: resource.replace }
  return (
    <>
      <div class="filters">
        <Segments
          label="Show as"
          value={view}
          choices={[
            { value: 'form', label: 'Form' },
            { value: 'yaml', label: 'YAML' },
          ]}
          onChange={(value) => setParams({ view: value === 'form' ? undefined : value }, { push: true })}
        />
        <span class="hint">
          This is the working copy. Environments go on with the version that was deployed to them last.
        </span>
      </div>
      {view === 'yaml' ? <DefinitionYaml {...props} /> : <DefinitionForm {...props} />}
      {(may('updateAgent') || may('deleteAgent')) && <DangerZone agent={agent} />}
    </>
  )
}
