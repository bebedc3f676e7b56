import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Agent } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { asLeft } from '../../lib/location.ts'
import { agentPath } from '../../lib/paths.ts'
import { type Resource, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import type { ApiRequest } from '../../ui/api-call.tsx'
import { Status } from '../../ui/data/status.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { TABS } from './tabs.ts'

type Props = {
  /** The name or ID, as in the URL. */
  name: string
  /** The tab's id in `tabs.ts`. */
  tab: string
  actions?: ComponentChildren
  api?: ApiRequest
  children(agent: Agent, resource: Resource<Agent>): ComponentChildren
}

/** What an agent's tabs have in common: its name, its status, and the links to the other tabs. */
export function AgentFrame({ name, tab, actions, api, children }: Props) {
  const agent = useResource(`agent ${name}`, (signal) => service.agents.get(name, { signal }))
  const tabs = useRef<HTMLElement>(null)
  // On a phone, the tabs are wider than the page, and the open one must be visible.
  useEffect(() => {
    tabs.current?.querySelector(`[data-tab="${tab}"]`)?.scrollIntoView({ inline: 'center', block: 'nearest' })
  }, [tab])
  const label = TABS.find(({ id }) => id === tab)?.label ?? ''
  if (!agent.data && agent.error?.status === 404) {
    return (
      <Page title={name} crumbs={[{ label: 'Agents', to: '/' }]}>
        <Empty title="Agent not found">
          <p>
            There's no agent <code>{name}</code> in this project. It might have been deleted or moved.
          </p>
        </Empty>
      </Page>
    )
  }
  return (
    <Page
      title={agent.data?.name ?? name}
      windowTitle={`${label} · ${agent.data?.name ?? name}`}
      crumbs={[{ label: 'Agents', to: '/' }]}
      about={
        agent.data && (
          <>
            <Status value={agent.data.status} />
            <code class="soft">{whatAnswers(agent.data)}</code>
          </>
        )
      }
      actions={actions}
      {...(api && { api })}
    >
      <nav ref={tabs} class="tabs" aria-label="Agent">
        {TABS.filter(({ needs }) => may(needs)).map(({ id, label: text }) => (
          <a
            key={id}
            href={href(asLeft(agentPath(name, id)))}
            aria-current={id === tab ? 'page' : undefined}
            data-label={text}
            data-tab={id}
          >
            {text}
          </a>
        ))}
      </nav>
      <Failure error={agent.error} retry={agent.reload} />
      {agent.data && children(agent.data, agent)}
    </Page>
  )
}

/** The model. For a remote agent, its kind and URL. */
function whatAnswers({ kind, model, remote }: Agent): string {
  if (!remote) return [model].flat().join(', ')
  return 'a2a' in remote ? `A2A · ${new URL(remote.a2a).host}` : `${kind} · ${new URL(remote.url).host}`
}
