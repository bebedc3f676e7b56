import { sql } from 'kysely'
import { listIdsOfUser } from '../invocations/find-invocations.ts'
import * as memories from '../memory/store.ts'
import type { Database } from '../storage/database.ts'
import { eraseRepliesAbout, eraseReply, listReplies } from '../storage/leases/stored-replies.ts'
import { contains } from '../storage/queries/contains.ts'

export type ErasureScope = {
  user_id: string
  agent_seqs: ReadonlySet<number>
  agent_ids: ReadonlySet<string>
  project_id: string
  /** Whether all of the project is in reach, and not only some of its agents. */
  isWholeProject: boolean
}

/** Replies to requests that may be repeated are kept for a day. Those that name the user are erased whole. */
export async function eraseReplies(db: Database, whose: ErasureScope): Promise<number> {
  const named = contains(db, sql<string>`body`, JSON.stringify(whose.user_id))
  let erased = 0
  let after = { scope: '', key: '' }
  for (;;) {
    const replies = await listReplies(db, named, after)
    const last = replies.at(-1)
    if (!last) return erased
    after = last
    for (const reply of replies) {
      if (await isInReach(db, reply, whose)) erased += await eraseReply(db, reply)
    }
  }
}

/** The same for replies about these runs of the user. */
export async function eraseRepliesOfRuns(db: Database, request_ids: string[]): Promise<number> {
  return request_ids.length === 0 ? 0 : eraseRepliesAbout(db, request_ids)
}

const ID = /"((?:agt|req|mem)_[0-9A-Z]{26})"/g

/** Whether a reply belongs to the project, or is about one of the agents, its runs or its memories. */
async function isInReach(
  db: Database,
  { body, ...reply }: { body: string; project_id: string },
  whose: ErasureScope,
): Promise<boolean> {
  const { project_id, user_id, isWholeProject } = whose
  if (isWholeProject && reply.project_id === project_id) return true
  const ids = Array.from(body.matchAll(ID), ([, id]) => id as string)
  if (ids.some((id) => whose.agent_ids.has(id))) return true
  const of = (prefix: string) => ids.filter((id) => id.startsWith(prefix))
  const runs = await listIdsOfUser(db, user_id, { ...whose, ids: of('req_') })
  return runs.length > 0 || (await memories.listIdsOfAgents(db, whose.agent_seqs, of('mem_'))).length > 0
}
