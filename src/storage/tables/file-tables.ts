import { bytes, flag, integer, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

export const fileTables = {
  /**
   * Bytes that are stored, arriving or being removed. The row exists from before the first byte is written until after
   * the last one is removed.
   */
  blobs: table({
    id: text.primary,
    project_id: text,
    state: text.of<'incoming' | 'kept' | 'dropped'>(),
    /** The store that has the bytes. */
    kept_in: text.of<'folder' | 's3' | 'postgres'>(),
    /** Null until all bytes have arrived. */
    sha256: text.nullable,
    /** For a dropped blob that couldn't be removed, the earliest start of the sweep that tries it again. */
    created_at: time,
  }).indexes({
    blobs_by_content: "unique (project_id, sha256) where state = 'kept'",
    blobs_not_kept: "(state, created_at) where state <> 'kept'",
  }),
  /**
   * Files that clients have uploaded. Several files of a project can share a blob. A job removes a deleted project's
   * files, because their bytes must be removed too.
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
     * The agent whose run or schedule created the file. Its security also applies to the file. If null, the file
     * belongs to the whole project.
     */
    agent_id: text.nullable,
    /** The invocation whose message or tool created the file. The file is deleted with the receipt. */
    request_id: text.nullable,
    /** The schedule that created the file. The file is deleted when no schedule refers to it any more. */
    schedule_id: text.nullable,
    /** 1 if a tool made the file and no receipt is known to refer to it. */
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
  /** The bytes of blobs that are kept in PostgreSQL itself. */
  blob_chunks: table({ blob_id: text, part: integer, bytes: bytes })
    .primaryKey('blob_id', 'part')
    .only('postgres')
    // If files can be compressed, they usually already are.
    .also({ postgres: ['alter table blob_chunks alter column bytes set storage external'] }),
}
