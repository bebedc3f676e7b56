import type { CreateBudget } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { projects } from '../../lib/projects/chosen-project.ts'
import { session } from '../../lib/session-state.ts'
import { Field, Select } from '../../ui/forms/field.tsx'

/** The form's names for the scope. For `each …`, every key or user has its own limit. */
type Choice = 'service' | 'project' | 'agent' | 'key' | 'each key' | 'user' | 'each user'

export type ScopeChoice = { choice: Choice; id: string }

const CHOICES: { value: Choice; label: string }[] = [
  { value: 'project', label: 'this project' },
  { value: 'agent', label: 'an agent' },
  { value: 'each user', label: 'each user separately' },
  { value: 'user', label: 'one user' },
  { value: 'each key', label: 'each key separately' },
  { value: 'key', label: 'one key' },
]
const SERVICE = { value: 'service', label: 'the whole service' }

const IDS: Partial<Record<Choice, { label: string; hint: string }>> = {
  agent: { label: 'Agent', hint: 'Its name or ID.' },
  key: { label: 'Key', hint: 'Its ID: key_…' },
  user: { label: 'User', hint: "The user_id from the request's context." },
}

export function scopeBody({ choice, id }: ScopeChoice): CreateBudget['scope'] {
  const type = choice.replace('each ', '') as CreateBudget['scope']['type']
  return { type, id: IDS[choice] ? id.trim() : null }
}

type Props = { scope: ScopeChoice; setScope(scope: ScopeChoice): void; error: string | undefined }

/** Whose spending counts. The service as a whole is only for its administrators. */
export function BudgetScopeFields({ scope, setScope, error }: Props) {
  const agents = useAgentNames(scope.choice === 'agent')
  const now = session.value
  const isOverAll = now?.reach === 'service' && now.agent_id === null && projects.value.length > 0
  const asked = IDS[scope.choice]
  return (
    <div class="columns">
      <Select
        label="Applies to"
        value={scope.choice}
        choices={isOverAll ? [...CHOICES, SERVICE] : CHOICES}
        onChange={(choice) => setScope({ choice: choice as Choice, id: '' })}
      />
      {asked && (
        <Field
          key={scope.choice}
          label={asked.label}
          hint={asked.hint}
          value={scope.id}
          onInput={(id) => setScope({ ...scope, id })}
          suggestions={scope.choice === 'agent' ? [...(agents.data?.values() ?? [])] : undefined}
          error={error}
          isRequired
        />
      )}
    </div>
  )
}
