import type { AgentOverview } from '../../../sdk/client.ts'
import { waitingApprovals } from '../../lib/approvals/waiting-approvals.ts'
import { href } from '../../lib/base.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { counted, percentText } from '../../lib/text/format.ts'
import { Icon } from '../../ui/icon.tsx'

/** An agent is failing if this share of its requests failed, and a budget is near its limit from this share on. */
const FAILING = 0.1
const NEARLY = 0.8
const MOST_AGENTS = 3
const MOST_BUDGETS = 100

type Need = { text: string; to: string }

/** What a person should look at. There is nothing to see while all is well. */
export function Attention({ agents }: { agents: AgentOverview[] }) {
  const found = useResource('attention', loadNeeds, { everyMs: 30_000 })
  const waiting = waitingApprovals.value ?? 0
  const approvals = { text: `${counted(waiting, 'approval')} waiting for a decision`, to: '/approvals' }
  const needs: Need[] = [...(waiting > 0 ? [approvals] : []), ...failing(agents), ...(found.data ?? [])]
  if (needs.length === 0) return null
  return (
    <section class="attention" aria-label="Needs attention">
      <h2>Needs attention</h2>
      <ul>
        {needs.map(({ text, to }) => (
          <li key={to}>
            <Icon name="warning" />
            <a href={href(to)}>{text}</a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function failing(agents: AgentOverview[]): Need[] {
  return agents
    .filter(({ errors, requests }) => errors > 0 && errors >= FAILING * requests)
    .toSorted((a, b) => b.errors - a.errors)
    .slice(0, MOST_AGENTS)
    .map(({ name, errors, requests }) => ({
      text: `${name}: ${percentText(errors, requests)} of requests failed in the last 24 hours`,
      to: `/activity?agent=${encodeURIComponent(name)}&status=failed`,
    }))
}

async function loadNeeds(signal: AbortSignal): Promise<Need[]> {
  const [disabled, budgets] = await Promise.all([
    may('listWebhooks') ? service.webhooks.list({ status: 'disabled', limit: 1 }, { signal }) : undefined,
    may('listBudgets') ? service.budgets.list({ limit: MOST_BUDGETS }, { signal }) : undefined,
  ])
  const total = disabled?.pagination.total ?? 0
  const near = (budgets?.data ?? []).flatMap(({ id, name, used, limit }) => {
    const most = Object.values(limit)[0] ?? 0
    if (used < NEARLY * most) return []
    return [{ text: `Budget ${name}: ${percentText(used, most)} used`, to: `/usage/budgets?budget=${id}` }]
  })
  return [
    ...(total > 0 ? [{ text: `${counted(total, 'webhook')} disabled`, to: '/webhooks?status=disabled' }] : []),
    ...near,
  ]
}
