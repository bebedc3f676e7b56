import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { href } from '../../lib/base.ts'
import { agentPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import type { Params } from '../../routes.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Status } from '../../ui/data/status.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Who } from '../../ui/data/who.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { Changes } from './changes.tsx'
import { Evidence, Sides } from './rollout.tsx'

/** One deployment, for readers who have its ID: what it serves, and what it changed. */
export function DeploymentPage({ params: { deployment: id = '' } }: { params: Params }) {
  const found = useResource(`deployment ${id}`, (signal) => service.deployments.find(id, { signal }))
  const names = useAgentNames()
  const deployment = found.data
  const agent = deployment && (names.data?.get(deployment.agent_id) ?? deployment.agent_id)
  return (
    <Page
      title={deployment ? `${deployment.version} in ${deployment.environment}` : 'Deployment'}
      crumbs={[
        { label: 'Agents', to: '/' },
        ...(agent ? [{ label: `${agent}: deployments`, to: agentPath(agent, 'deployments') }] : []),
      ]}
      about={deployment && <Status value={deployment.status} />}
      api={{ operation: 'findDeployment', method: 'deployments.find', params: { deployment_id: id } }}
    >
      <Failure error={found.error} retry={found.reload} />
      {deployment && agent && (
        <>
          <Facts
            of={{
              Agent: <a href={href(agentPath(agent))}>{agent}</a>,
              When: <Ago time={deployment.created_at} />,
              By: <Who id={deployment.created_by} name={deployment.created_by_name} />,
              Message: deployment.message ?? undefined,
              'Rollback of': deployment.rollback_of ? <OfDeployment id={deployment.rollback_of} /> : undefined,
              Replaced: deployment.replaces ? <OfDeployment id={deployment.replaces} /> : undefined,
              ID: (
                <span class="id">
                  <code>{id}</code>
                  <CopyButton text={id} label="Copy the ID" />
                </span>
              ),
            }}
          />
          <Evidence deployment={deployment} />
          {deployment.progress && <Sides progress={deployment.progress} version={deployment.version} />}
          <Changes agent_id={deployment.agent_id} deployment={deployment} />
        </>
      )}
    </Page>
  )
}

function OfDeployment({ id }: { id: string }) {
  return (
    <a href={href(`/deployments/${id}`)}>
      <code>{id}</code>
    </a>
  )
}
