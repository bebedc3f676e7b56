import { bytes, flag, integer, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

export const fileTables = {
  /**
   * Bytes that are stored, or on their way in or out. The row exists from before their first byte until after their
   * last.
   */
  blobs: table({
    id: text.primary,
    project_id: text,
    state: text.of<'incoming' | 'kept' | 'dropped'>(),
    /** The store that has the bytes. */
    kept_in: text.of<'folder' | 's3' | 'postgres'>(),
    /** Null until all bytes have arrived. */
    sha256: text.nullable,
    /** For a dropped blob that couldn't be removed: the earliest start of the sweep that tries it again. */
    created_at: time,
  }).indexes({
    blobs_by_content: "unique (project_id, sha256) where state = 'kept'",
    blobs_not_kept: "(state, created_at) where state <> 'kept'",
  }),
  /**
   * Files that clients have uploaded. Several files of a project can have the same blob. A deleted project's files are
   * removed by a job, because their bytes must go too.
   */
  files: table({
    id: text.primary,
    project_id: text,
    blob_id: text.needs('blobs'),
    name: text,
    media_type: text,
    size: integer,
    sha256: text,
    user_id: text.nullable,
    created_by: text,
    /**
     * The agent whose run or schedule created it: its security also applies to the file. Null: it belongs to the whole
     * project.
     */
    agent_id: text.nullable,
    /** The invocation whose message or tool created it; it is deleted with the receipt. */
    request_id: text.nullable,
    /** The schedule that created it; it is deleted when no schedule names it any more. */
    schedule_id: text.nullable,
    /** 1: a tool made it, and no receipt is known to name it. */
    unclaimed: flag.of<0 | 1>(),
    created_at: time,
    expires_at: time.nullable,
  }).indexes({
    files_by_project: '(project_id, id)',
    files_by_user: '(project_id, user_id, id)',
    files_by_type: '(project_id, media_type, id)',
    files_by_maker: '(project_id, created_by, id)',
    files_by_blob: '(blob_id)',
    files_by_request: '(request_id) where request_id is not null',
    files_by_schedule: '(schedule_id) where schedule_id is not null',
    files_unclaimed: '(request_id) where unclaimed = 1',
    files_by_expiry: '(expires_at) where expires_at is not null',
  }),
  /** The bytes of blobs that PostgreSQL itself keeps. */
  blob_chunks: table({ blob_id: text, part: integer, bytes: bytes })
    .primaryKey('blob_id', 'part')
    .only('postgres')
    // Files are usually compressed already, if they can be.
    .also({ postgres: ['alter table blob_chunks alter column bytes set storage external'] }),
}
