import type { ServedAgent, ServedVersions } from '../../agents/agent-snapshot.ts'
import { sha256 } from '../../security/digest.ts'

/** Whose message it is. */
export type Sender = { user_id: string | undefined; session_id: string | undefined; request_id: string }

/**
 * The version that answers. It's the same for all messages of a session, or else of a user, on every node. When the
 * share grows, those who had the candidate keep it. Without a sender, it's the version that isn't being tested.
 */
export function chooseVersion({ stable, candidate }: ServedVersions, sender: Sender | null): ServedAgent {
  if (!candidate || !sender) return stable
  return placeOf(candidate.split_key, sender) < candidate.share ? candidate.served : stable
}

/**
 * A place from 0 to 10,000 that depends only on the sender and on the deployment's secret. A caller that chooses its
 * session IDs can't compute who gets the candidate.
 */
function placeOf(split_key: string, { user_id, session_id, request_id }: Sender): number {
  const whose =
    session_id !== undefined
      ? ['session', user_id ?? null, session_id]
      : user_id !== undefined
        ? ['user', user_id]
        : ['request', request_id]
  const digest = sha256(JSON.stringify([split_key, ...whose]))
  return (Number.parseInt(digest.slice(0, 12), 16) / 2 ** 48) * 10_000
}
