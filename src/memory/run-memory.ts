import * as agents from '../agents/store.ts'
import { formatTime } from '../lib/time.ts'
import type { Parts } from '../operation/parts.ts'
import { FULL_MESSAGE, isFull } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import type { MemoryOwner, RunMemory } from '../runtime/remote-agent/host-steps.ts'
import { ToolError } from '../runtime/tools/tool.ts'
import { sha256 } from '../security/digest.ts'
import { scopeOfRun } from './memory-filter.ts'
import * as memories from './store.ts'

/** The memories that remote agents search and write during their runs. */
export function openRunMemory(
  { storage, now }: Pick<Parts, 'storage' | 'now'>,
  recall: () => Parts['recall'],
): RunMemory {
  return {
    async search({ agent_id, user_id = null, session_id = null }, { query, limit }, { meter, deadline }) {
      const agent = await agents.get(storage.db, agent_id)
      const scope = scopeOfRun({ agent_seq: agent.seq, user_id, session_id })
      if (!scope) return []
      const { items } = await recall().search(scope, query, { limit }, meter, deadline.signal)
      return items.map(({ id, content, kind, role, score, created_at }) => {
        return { id, content, kind, role, score, created_at: formatTime(created_at) }
      })
    },

    write: (owner, { content, key }) =>
      storage.transaction(async (db) => {
        const agent = await agents.get(db, owner.agent_id)
        if (isFull(await projects.get(db, agent.project_id))) throw new ToolError(FULL_MESSAGE)
        const id = idOf(owner, key)
        const [known] = await memories.listIdsOfAgents(db, new Set([agent.seq]), [id])
        if (known === undefined) await memories.insert(db, agent.seq, [noteOf(id, content, owner, now())])
        return { id }
      }),
  }
}

/** The same key always gives the same ID, so a step that is repeated writes its note only once. */
function idOf({ agent_id }: MemoryOwner, key: string): string {
  return `mem_${sha256(`${agent_id} ${key}`).slice(0, 26)}`
}

function noteOf(id: string, content: string, owner: Parameters<RunMemory['write']>[0], created_at: number) {
  const { user_id, session_id, served } = owner
  return {
    id,
    kind: 'note' as const,
    role: null,
    content,
    user_id: user_id ?? null,
    session_id: session_id ?? null,
    created_at,
    metadata: {},
    ...served,
  }
}
