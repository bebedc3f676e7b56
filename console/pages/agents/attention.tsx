import type { AgentOverview, Pagination } from '../../../sdk/client.ts'
import { waitingApprovals } from '../../lib/approvals/waiting-approvals.ts'
import { href } from '../../lib/base.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { counted, percentText } from '../../lib/text/format.ts'
import { Icon } from '../../ui/icon.tsx'

/** From this share on, a budget is shown as nearly used up. */
const NEARLY = 0.8
const MOST_AGENTS = 3
const MOST_FOUND = 100

export type OverviewPage = { data: AgentOverview[]; pagination: Pagination }

type AttentionItem = { text: string; to: string }

/** What a person should look at. Shows nothing while everything is fine. */
export function Attention({ agents }: { agents: OverviewPage }) {
  const areAll = agents.data.length === agents.pagination.total
  const found = useResource(`attention ${areAll}`, (signal) => loadNeeds(signal, areAll), { everyMs: 30_000 })
  const waiting = waitingApprovals.value ?? 0
  const approvals = { text: `${counted(waiting, 'approval')} waiting for a decision`, to: '/approvals' }
  const needs: AttentionItem[] = [
    ...(waiting > 0 ? [approvals] : []),
    ...failing(areAll ? agents.data : found.data?.failing),
    ...(found.data?.others ?? []),
  ]
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

const isFailing = ({ errors, requests }: AgentOverview) => errors > 0 && errors >= requests / 10

function failing(agents: AgentOverview[] = []): AttentionItem[] {
  const all = agents.filter(isFailing).toSorted((a, b) => b.errors - a.errors)
  const more = all.length - MOST_AGENTS
  return [
    ...all.slice(0, MOST_AGENTS).map(({ name, errors, requests }) => ({
      text: `${name}: ${percentText(errors, requests)} of requests failed in the last 24 hours`,
      to: `/activity?agent=${encodeURIComponent(name)}&status=failed`,
    })),
    ...(more > 0 ? [{ text: `${counted(more, 'more agent')} failing`, to: '/activity?status=failed' }] : []),
  ]
}

async function loadNeeds(signal: AbortSignal, areAllKnown: boolean) {
  const [troubled, disabled, budgets] = await Promise.all([
    areAllKnown ? undefined : service.agents.overview({ failing: 'true', limit: MOST_FOUND }, { signal }),
    may('listWebhooks') ? service.webhooks.list({ status: 'disabled', limit: 1 }, { signal }) : undefined,
    may('listBudgets') ? service.budgets.list({ limit: MOST_FOUND }, { signal }) : undefined,
  ])
  const total = disabled?.pagination.total ?? 0
  const near = (budgets?.data ?? []).flatMap(({ id, name, used, limit }) => {
    const most = Object.values(limit)[0] ?? 0
    if (used < NEARLY * most) return []
    return [{ text: `Budget "${name}": ${percentText(used, most)} used`, to: `/usage/budgets?budget=${id}` }]
  })
  const webhooks = { text: `${counted(total, 'webhook')} disabled`, to: '/webhooks?status=disabled' }
  return { failing: troubled?.data, others: [...(total > 0 ? [webhooks] : []), ...near] }
}
