import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { href } from '../../lib/base.ts'
import { agentPath } from '../../lib/paths.ts'

/** An agent's name with a link to its page. Without an agent, all agents are meant. */
export function AgentLink({ id }: { id: string | null }) {
  const names = useAgentNames()
  if (id === null) return <>all agents</>
  const name = names.data?.get(id) ?? id
  return (
    <a href={href(agentPath(name))} title={id}>
      {name}
    </a>
  )
}
