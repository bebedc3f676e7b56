import type { Attachment } from '../runtime/attachments/attachment.ts'
import type { Meter } from '../runtime/models/meter.ts'
import type { Turn } from '../runtime/outcome.ts'
import type { RecalledNames } from '../runtime/steps.ts'
import type { Page } from '../storage/queries/page.ts'

/** Which memories: undefined means any user or session, and null means memories without one. */
export type MemoryScope = {
  agent_seq: number
  user_id?: string | null | undefined
  session_id?: string | null | undefined
}

/** One conversation with one agent. If `user_id` is null, it belongs to no user, and no user sees it. */
export type Conversation = { agent_seq: number; user_id: string | null; session_id: string | null }

export type MemoryMatch = {
  id: string
  content: string
  kind: 'turn' | 'fact' | 'note'
  role: Turn['role'] | null
  user_id: string | null
  session_id: string | null
  created_at: number
  metadata: Record<string, unknown>
  score: number
  /** The ways in which it was found. */
  matched: ('words' | 'meaning' | 'date')[]
}

/** A turn with the files that came with it. */
export type RememberedTurn = Turn & { attachments?: Attachment[] }

/**
 * What the model is given besides the message: the latest turns of the session, oldest first, its summary if there is
 * one, and other relevant memories.
 */
export type RecallResult = {
  history: RememberedTurn[]
  recalled: MemoryMatch[]
  summary?: string | undefined
  /** The same by the seqs of the memories. Undefined if there is nothing. */
  names?: RecalledNames | undefined
}

/**
 * Finds memories, and counts the usage of an embedder. When the signal aborts, it stops waiting for the embedder.
 * `memory/` implements it.
 */
export type Recall = {
  search(
    scope: MemoryScope,
    query: string,
    options: { limit: number; offset?: number; min_score?: number },
    meter: Meter,
    signal?: AbortSignal,
  ): Promise<Page<MemoryMatch>>
  remember(
    conversation: Conversation,
    message: string,
    limits: { history: number; recall: number; summarize?: boolean | number },
    meter: Meter,
    signal?: AbortSignal,
  ): Promise<RecallResult>
}
