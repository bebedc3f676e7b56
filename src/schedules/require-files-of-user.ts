import type { Agent } from '../agents/agent.ts'
import { invalid } from '../errors.ts'
import * as files from '../files/store.ts'
import type { Database } from '../storage/database.ts'
import type { Schedule } from './schedule.ts'

/** A schedule that changes its user must not show the agent the previous user's files. */
export async function requireFilesOfUser(
  db: Database,
  { project_id }: Agent,
  { attachments, context }: Schedule,
  now: number,
): Promise<void> {
  for (const { file_id } of attachments) {
    const owner = (await files.find(db, { project_id, id: file_id, except: [] }, now))?.user_id ?? null
    if (owner === null || owner === context.user_id) continue
    throw invalid({
      field: 'attachments',
      error: `the file ${file_id} belongs to another user; send \`attachments\` again with files of this user`,
    })
  }
}
