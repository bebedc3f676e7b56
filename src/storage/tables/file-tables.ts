import { bytes, flag, integer, text, time } from '../schema/column.ts'
import { table } from '../schema/described-table.ts'

export const fileTables = {
  /** Bytes that are stored, or on their way in or out. The row is there before their first byte, and until their last. */
  blobs: table({
    id: text.primary,
    project_id: text,
    state: text.of<'incoming' | 'kept' | 'dropped'>(),
    /** Where the bytes are. */
    kept_in: text.of<'folder' | 's3' | 'postgres'>(),
    /** Null until all bytes have come. */
    sha256: text.nullable,
    /** Later for a dropped blob that could not be removed: when the next sweep may begin that tries it again. */
    created_at: time,
  }).indexes({
    blobs_by_content: "unique (project_id, sha256) where state = 'kept'",
    blobs_not_kept: "(state, created_at) where state <> 'kept'",
  }),
  /**
   * What clients have uploaded. Several files of a project may have the same blob. The files of a
   * deleted project are swept up, because their bytes have to go too.
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
    /** The agent whose run or schedule brought it: its gate holds for the file too. Null: it belongs to the whole project. */
    agent_id: text.nullable,
    /** The invocation whose message or tool brought it; it goes with the receipt. */
    request_id: text.nullable,
    /** The schedule that brought it; it goes when no schedule names it any more. */
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
    // Files are compressed already, if they can be.
    .also({ postgres: ['alter table blob_chunks alter column bytes set storage external'] }),
}
