import { z } from 'zod'
import { KnownDigest } from '../agents/agent.ts'
import { type Definition, DefinitionFields, definitionOf, digestOf } from '../agents/definition.ts'
import { Environment } from '../runtime/tools/called-agent.ts'
import { bareShape, KeyName, Label, Time } from '../shapes.ts'
import {
  RequiredReplay,
  RolloutEvidence,
  RolloutProgress,
  RolloutStrategy,
  ShownRequiredReplay,
  ShownStrategy,
} from './rollouts/rollout.ts'

export const Version = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/,
    'must be 1 to 64 letters, digits, ., _, + or -, starting with a letter or digit',
  )

/**
 * active → superseded (another version was deployed) | rolled_back (it was undone). Both are final. A gradual deployment
 * is rolling_out ⇄ paused before, and then active or aborted.
 */
export const DeploymentStatus = z.enum(['active', 'superseded', 'rolled_back', 'rolling_out', 'paused', 'aborted'])

export const DeploymentParams = z.strictObject({ agent_id: z.string(), deployment_id: z.string() })

export const CreateDeploymentBody = z
  .strictObject({
    environment: Environment,
    version: Version,
    message: Label(1000, 0).nullable().default(null),
    digest: KnownDigest.describe(
      "The agent's `digest` as you last read it. If the agent, or the version with this label, has different content, the request fails with 409",
    ),
    strategy: RolloutStrategy.optional().describe(
      'Deploy gradually: the version gets a growing share of the messages and is compared with the version that serves the others',
    ),
    require_replay: RequiredReplay.optional().describe(
      'Serve the version only after a replay of this set has passed. If it does not pass, the deployment is aborted',
    ),
  })
  .meta({ id: 'CreateDeployment' })

export const DeploymentReply = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    environment: z.string(),
    version: z.string(),
    status: DeploymentStatus,
    digest: z.string().describe('SHA-256 hash of the snapshot. Equal digests mean equal content'),
    message: z.string().nullable(),
    created_by: z.string(),
    created_by_name: KeyName,
    created_at: Time,
    replaces: z.string().nullable().describe('The deployment that was active before'),
    rollback_of: z.string().nullable().describe('For a rollback: the deployment it undid'),
    forgotten: z
      .int()
      .nullable()
      .default(null)
      .describe('How many memories its rollback has removed so far; null if they are kept'),
    strategy: ShownStrategy.nullable().default(null).describe('How a gradual deployment proceeds; null for others'),
    require_replay: ShownRequiredReplay.nullable().default(null),
    progress: RolloutProgress.nullable()
      .default(null)
      .describe('Where a deployment with `strategy` or `require_replay` is; null for others'),
    evidence: RolloutEvidence.nullable().default(null).describe('Why the guard aborted or paused it'),
  })
  .meta({ id: 'Deployment' })

/** The reply to a deployment that was just made. */
export const NewDeployment = z
  .object({
    ...DeploymentReply.shape,
    warnings: z
      .array(z.string())
      .optional()
      .describe(
        "What will fail with the current configuration: for example a tool whose URL `outgoing` does not allow, or a secret that is missing or not allowed for the tool's host",
      ),
  })
  .meta({ id: 'NewDeployment' })

export const DeploymentWithDefinition = z
  .object({
    ...DeploymentReply.shape,
    definition: z
      .object(bareShape(DefinitionFields.shape))
      .describe('The agent as it was when the version was created'),
  })
  .meta({ id: 'DeploymentWithDefinition' })

const Side = z.object({ deployment_id: z.string(), version: z.string() })

/** What a rollback would change. */
export const RollbackPreview = z
  .object({
    dry_run: z.literal(true),
    from: Side,
    to: Side,
    diff: z.array(z.object({ field: z.string(), from: z.unknown(), to: z.unknown() })),
    memories: z.int().describe('How many memories runs of the deployment have written, which `forget` would remove'),
  })
  .meta({ id: 'RollbackPreview' })

export type Deployment = z.input<typeof DeploymentReply>

/** Without what only a gradual deployment has, which is stored with its rollout. */
export type StoredDeployment = Omit<Deployment, 'strategy' | 'require_replay' | 'progress' | 'evidence'>

/** A snapshot of an agent's definition under a label; it never changes. */
export type Snapshot = { version: string; definition: Definition; digest: string }

export function snapshot(agent: Definition, version: string): Snapshot {
  return { version, definition: definitionOf(agent), digest: digestOf(agent) }
}
