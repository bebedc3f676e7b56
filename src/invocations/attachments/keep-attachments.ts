import { ApiError, invalid, notFound } from '../../errors.ts'
import type { StoredFile } from '../../files/file.ts'
import { getInReach } from '../../files/file-in-reach.ts'
import { type FileOrigin, keepFile } from '../../files/keep-file.ts'
import * as files from '../../files/store.ts'
import type { Needs } from '../../operation/context.ts'
import type { Attachment, AttachmentInput } from '../../runtime/attachments/attachment.ts'
import type { Given, GivenInput } from '../../runtime/given.ts'
import type { Database } from '../../storage/database.ts'
import { enqueue } from '../../storage/jobs/jobs.ts'

type KeepEachNeeds = Needs<'actor' | 'config' | 'newId' | 'now' | 'shownAgents' | 'uploads'>

export type KeepNeeds = KeepEachNeeds & Needs<'db' | 'mode' | 'request_id' | 'storage'>

type RequestFiles = { attachments: readonly AttachmentInput[] | undefined; given: GivenInput | undefined }

type StoredAttachments = { attachments: Attachment[] | null; given: Given | undefined }

/**
 * Stores every attachment as a file of the run's user. A file that is already stored must be visible to the actor, and
 * belong to that user or to no user.
 */
export async function keepAttachments(
  { attachments = [], given }: RequestFiles,
  { agent_id, user_id }: Pick<AttachmentOwner, 'agent_id' | 'user_id'>,
  context: KeepNeeds,
): Promise<StoredAttachments> {
  const isTold = given?.history?.some((turn) => turn.attachments?.length)
  if (attachments.length === 0 && !isTold) return { attachments: null, given: given as Given | undefined }
  const keepAll = async (db: Database): Promise<StoredAttachments> => {
    const origin = { agent_id, request_id: context.request_id, schedule_id: null }
    const keepList = (list: readonly AttachmentInput[]) => keepEach(db, list, { ...origin, user_id }, context)
    const kept = attachments.length > 0 ? await keepList(attachments) : null
    if (!given?.history) return { attachments: kept, given: given as Given | undefined }
    const history = []
    for (const { attachments: own, ...turn } of given.history) {
      history.push(own?.length ? { ...turn, attachments: await keepList(own) } : turn)
    }
    return { attachments: kept, given: { ...given, history } }
  }
  // A background run is queued in the request's transaction.
  return context.mode === 'background' ? keepAll(context.db) : context.storage.transaction(keepAll)
}

/** Removes the files of a run that was refused. If that fails, a job removes them later. */
export async function removeAttachments({
  storage,
  newId,
  now,
  request_id,
  uploads,
  log,
}: Needs<'log' | 'newId' | 'now' | 'request_id' | 'storage' | 'uploads'>): Promise<void> {
  if (!uploads) return
  try {
    await storage.transaction(async (db) => {
      const removed = await files.removeOfRequest(db, request_id)
      if (removed > 0) await enqueue(db, { id: newId('job', now()), kind: 'file bytes', run_at: now() })
    })
  } catch (err) {
    log.warn({ err, request_id }, 'could not remove the attachments of a refused run; they will be removed later')
  }
}

type AttachmentOwner = FileOrigin & { user_id: string | null }

/** Stores the attachments of one list in the request's transaction. */
export async function keepEach(
  db: Database,
  asked: readonly AttachmentInput[],
  whose: AttachmentOwner,
  context: KeepEachNeeds,
): Promise<Attachment[]> {
  const kept: Attachment[] = []
  for (const [i, one] of asked.entries()) {
    const file =
      'file_id' in one ? await findFor(db, one.file_id, whose, context) : await keep(db, one, i, whose, context)
    const { id: file_id, name, media_type, size } = file
    kept.push({ file_id, name, media_type, size })
  }
  return kept
}

/** A key that acts for many users must not show one user's file to another. */
async function findFor(
  db: Database,
  file_id: string,
  { user_id }: AttachmentOwner,
  { actor, now, shownAgents }: KeepEachNeeds,
) {
  const file = await getInReach({ actor, db, now, shownAgents }, 'read', file_id)
  if (file.user_id !== null && file.user_id !== user_id) throw notFound('File', file_id)
  return file
}

async function keep(
  db: Database,
  asked: object,
  position: number,
  whose: AttachmentOwner,
  context: KeepEachNeeds,
): Promise<StoredFile> {
  const { actor, uploads } = context
  const upload = uploads?.taken.get(asked)
  if (upload instanceof ApiError) throw upload
  if (!upload) throw invalid({ field: `attachments.${position}`, error: 'can only contain file_id here' })
  const { taken, media_type, name } = upload
  const of = { ...whose, taken, media_type, name, created_by: actor.id, unclaimed: 0 as const }
  return keepFile(db, { ...of, expires_in_seconds: undefined }, context)
}
