/** What clients have uploaded. Several files of a project may have the same blob. */
export type FilesTable = {
  id: string
  project_id: string
  blob_id: string
  name: string
  media_type: string
  size: number
  sha256: string
  user_id: string | null
  created_by: string
  /** The agent whose run or schedule brought it: its gate holds for the file too. Null: it belongs to the whole project. */
  agent_id: string | null
  /** The invocation whose message or tool brought it; it goes with the receipt. */
  request_id: string | null
  /** The schedule that brought it; it goes when no schedule names it any more. */
  schedule_id: string | null
  /** 1: a tool made it, and no receipt is known to name it. */
  unclaimed: 0 | 1
  created_at: number
  expires_at: number | null
}

/** Bytes that are stored, or on their way in or out. The row is there before their first byte, and until their last. */
export type BlobsTable = {
  id: string
  project_id: string
  state: 'incoming' | 'kept' | 'dropped'
  /** Where the bytes are. */
  kept_in: 'folder' | 's3' | 'postgres'
  /** Null until all bytes have come. */
  sha256: string | null
  /** Later for a dropped blob that could not be removed: when the next sweep may begin that tries it again. */
  created_at: number
}

/** The bytes of blobs that PostgreSQL itself keeps. */
export type BlobChunksTable = { blob_id: string; part: number; bytes: Uint8Array }

/** How many files a project has, under the user '', and how many each user has there. Triggers write it, with the rows. */
export type FileCountsTable = { project_id: string; user_id: string; files: number; bytes: number }
