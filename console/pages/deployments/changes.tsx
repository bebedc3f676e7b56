import type { Deployment, DeploymentWithDefinition } from '../../../sdk/client.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Diff } from '../../ui/data/diff.tsx'
import { Failure } from '../../ui/failure.tsx'

type Props = { agent_id: string; deployment: Deployment | DeploymentWithDefinition }

/** What a deployment changed, compared with the one that it replaced. */
export function Changes({ agent_id, deployment }: Props) {
  const { id, replaces } = deployment
  const both = useResource(`changes ${id}`, async (signal) => {
    const get = (deployment_id: string) => service.deployments.get(agent_id, deployment_id, { signal })
    const known = 'definition' in deployment ? deployment : get(id)
    const [after, before] = await Promise.all([known, replaces ? get(replaces) : undefined])
    return { after, before }
  })
  return (
    <>
      <Failure error={both.error} retry={both.reload} />
      {both.data && (
        <>
          <p>
            {both.data.before
              ? `Compared with ${both.data.before.version}, which it replaced:`
              : 'The first deployment in its environment. It serves:'}
          </p>
          <Diff label="Changes" from={both.data.before?.definition ?? {}} to={both.data.after.definition} />
        </>
      )}
    </>
  )
}
