import type { Agent } from '../../agents/agent.ts'
import * as agents from '../../agents/store.ts'
import type { Memo } from '../../storage/memo.ts'
import type { Storage } from '../../storage/open-storage.ts'

type WithheldNeeds = { memo: Memo; storage: Storage }

/**
 * Whether an agent sends its events only to webhooks and listeners that were created for it, because their creators
 * have passed the agent's own checks. The creator of a webhook for all agents may have another IP address, no
 * certificate or no code. HTTPS isn't such a check, because every caller can use it.
 */
export function isWithheld({ security }: Pick<Agent, 'security'>): boolean {
  if (security === null) return false
  const { ipWhitelist, mtls, mfa } = security
  return ipWhitelist.enabled || mtls.enabled || (mfa.enabled && mfa.requiredFor.includes('webhooks'))
}

/** The IDs of all such agents in a project. */
export async function listWithheld(project_id: string, known: WithheldNeeds): Promise<string[]> {
  const ofProject = (await agents.listKnownGuarded(known)).filter((agent) => agent.project_id === project_id)
  return ofProject.filter(isWithheld).map(({ id }) => id)
}
