import { sql } from 'kysely'
import * as files from '../files/store.ts'
import { listIdsOfUser } from '../invocations/find-invocations.ts'
import * as memories from '../memory/store.ts'
import type { Database } from '../storage/database.ts'
import { eraseRepliesAbout, eraseReply, listReplies } from '../storage/leases/stored-replies.ts'
import { contains } from '../storage/queries/contains.ts'

export type Whose = {
  user_id: string
  agent_seqs: ReadonlySet<number>
  agent_ids: ReadonlySet<string>
  /** The project whose files are the user's. Null if its files are out of reach. */
  project_id: string | null
  isEverything: boolean
}

/** Replies to requests that may be repeated are kept for a day. Those that name the user are erased whole. */
export async function eraseReplies(db: Database, whose: Whose): Promise<number> {
  const named = contains(db, sql<string>`body`, JSON.stringify(whose.user_id))
  let erased = 0
  let after = { scope: '', key: '' }
  for (;;) {
    const replies = await listReplies(db, named, after)
    const last = replies.at(-1)
    if (!last) return erased
    after = last
    for (const reply of replies) {
      if (await isInReach(db, reply.body, whose)) erased += await eraseReply(db, reply)
    }
  }
}

/** The same for what was answered about these runs of the user. */
export async function eraseRepliesOfRuns(db: Database, request_ids: string[]): Promise<number> {
  return request_ids.length === 0 ? 0 : eraseRepliesAbout(db, request_ids)
}

const ID = /"((?:agt|req|mem|file)_[0-9A-Z]{26})"/g

/** Whether a reply is about one of the agents, about a run of theirs, about what they remember, or about a file. */
async function isInReach(db: Database, body: string, whose: Whose): Promise<boolean> {
  if (whose.isEverything) return true
  const ids = Array.from(body.matchAll(ID), ([, id]) => id as string)
  if (ids.some((id) => whose.agent_ids.has(id))) return true
  const of = (prefix: string) => ids.filter((id) => id.startsWith(prefix))
  const { project_id, user_id } = whose
  if (project_id !== null && (await files.listIdsOfUser(db, { project_id, user_id }, of('file_'))).length > 0)
    return true
  const runs = await listIdsOfUser(db, user_id, { ...whose, ids: of('req_') })
  return runs.length > 0 || (await memories.listIdsOfAgents(db, whose.agent_seqs, of('mem_'))).length > 0
}
