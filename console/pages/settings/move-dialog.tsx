import { useState } from 'preact/hooks'
import type { Agent } from '../../../sdk/client.ts'
import { go } from '../../lib/location.ts'
import { agentPath } from '../../lib/paths.ts'
import { chosenProject, projects } from '../../lib/projects/chosen-project.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Select } from '../../ui/forms/field.tsx'

/** Moves the agent to another project, and follows it there. */
export function MoveDialog({ agent, onClose }: { agent: Agent; onClose(): void }) {
  const others = projects.value.filter(({ id }) => id !== chosenProject.value?.id)
  const [to, setTo] = useState(others[0]?.id ?? '')
  const target = others.find(({ id }) => id === to)?.name ?? ''
  return (
    <Confirm
      title="Move to another project"
      action="Move agent"
      onClose={onClose}
      work={async () => {
        await service.agents.move(agent.id, { project: to })
        toast(`${agent.name} moved to ${target}`)
        go(`${agentPath(agent.name, 'settings')}?project=${encodeURIComponent(target)}`)
      }}
    >
      <Select
        label="Project"
        value={to}
        choices={others.map(({ id, name }) => ({ value: id, label: name }))}
        onChange={setTo}
      />
      <p>
        <b>{agent.name}</b> moves with its versions, history, memory and schedules, and with the keys and webhooks
        limited to it. Personal keys that were created with a role in this project stop working. From its next run, the
        agent uses the other project's secrets and providers.
      </p>
    </Confirm>
  )
}
