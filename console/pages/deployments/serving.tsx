import type { Agent, Deployment } from '../../../sdk/client.ts'
import { Ago } from '../../ui/data/time.tsx'

/** The version that each environment serves. */
export function Serving({ active, agent }: { active: Deployment[] | undefined; agent: Agent }) {
  if (!active || active.length === 0) return null
  return (
    <ul class="serving">
      {active.map(({ id, environment, version, created_at, digest }) => (
        <li key={id}>
          <span class="soft">{environment}</span>
          <b>{version}</b>
          <span class="soft">
            since <Ago time={created_at} />
          </span>
          <span class={digest === agent.digest ? 'soft' : 'ahead'}>
            {digest === agent.digest ? 'same as the draft' : 'the draft has changes'}
          </span>
        </li>
      ))}
    </ul>
  )
}
