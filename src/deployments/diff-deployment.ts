import { z } from 'zod'
import { changesBetween, type Definition, DefinitionFields, definitionOf } from '../agents/definition.ts'
import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import type { Database } from '../storage/database.ts'
import { DeploymentParams, RollbackPreview, type StoredDeployment } from './deployment.ts'
import * as deployments from './store.ts'

const WORKING_COPY = 'working_copy'

const ComparedSide = z.object({
  deployment_id: z.string().nullable(),
  version: z.string().nullable().describe('Null if nothing was deployed before, or for the draft'),
})

export const diffDeployment = operation({
  id: 'diffDeployment',
  method: 'GET',
  path: '/v1/agents/{agent_id}/deployments/{deployment_id}/diff',
  summary: 'Compare a deployment',
  description:
    "Shows what a deployment changed compared to the one it replaced, or to another deployment of the agent. With `from=working_copy`, it shows how the deployment differs from the agent's draft.",
  access: { permission: 'read', userTokens: true },
  input: {
    params: DeploymentParams,
    query: z.strictObject({
      from: z
        .string()
        .max(100)
        .optional()
        .describe(
          'The ID of another deployment of the agent, or `working_copy` for the draft. Default: the deployment it replaced',
        ),
    }),
  },
  answer: {
    data: z
      .object({ from: ComparedSide, to: ComparedSide, diff: RollbackPreview.shape.diff })
      .meta({ id: 'DeploymentDiff' }),
  },

  async run({ params: { agent_id, deployment_id }, query }, { db }) {
    const deployment = await deployments.get(db, agent_id, deployment_id)
    const to = await sideOf(db, deployment)
    const from = await fromSide(db, agent_id, query.from ?? deployment.replaces)
    return { from: from.side, to: to.side, diff: changesBetween(from.definition, to.definition) }
  },
})

type SideDefinition = { side: z.input<typeof ComparedSide>; definition: Definition }

/** The first deployment of an environment is compared with an agent that has nothing but defaults. */
async function fromSide(db: Database, agent_id: string, wanted: string | null): Promise<SideDefinition> {
  const none = { deployment_id: null, version: null }
  if (wanted === null) return { side: none, definition: DefinitionFields.parse({}) }
  if (wanted === WORKING_COPY) return { side: none, definition: definitionOf(await agents.get(db, agent_id)) }
  return sideOf(db, await deployments.get(db, agent_id, wanted))
}

async function sideOf(db: Database, { agent_id, id, version }: StoredDeployment): Promise<SideDefinition> {
  const { definition } = await deployments.getVersion(db, agent_id, version)
  return { side: { deployment_id: id, version }, definition }
}
