import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may, session } from '../../lib/session-state.ts'

/** Anything beyond this is shown by its ID. */
const MOST_NAMES = 100

/** Returns a function that names the values of a column: agents, keys, people and projects have names. */
export function useGroupNames(columns: string[]): (column: string, value: string) => string {
  const agents = useAgentNames(columns.includes('agent_id'))
  const keys = useResource(columns.includes('key_id') && may('listKeys') ? 'key names' : undefined, async (signal) =>
    namesOf((await service.keys.list({ limit: MOST_NAMES }, { signal })).data),
  )
  const people = useResource(
    columns.includes('person_id') && may('listPeople') ? 'people names' : undefined,
    async (signal) => namesOf((await service.people.list({ limit: MOST_NAMES }, { signal })).data),
  )
  const known: Record<string, Map<string, string> | undefined> = {
    agent_id: agents.data,
    key_id: keys.data,
    person_id: people.data,
    project_id: namesOf(session.value?.projects ?? []),
  }
  return (column, value) => known[column]?.get(value) ?? value
}

function namesOf(items: { id: string; name: string }[]): Map<string, string> {
  return new Map(items.map(({ id, name }) => [id, name]))
}
