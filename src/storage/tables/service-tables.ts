/** What the installation must remember about itself. */
export type SettingsTable = { name: string; value: string }

/** One row for each Idempotency-Key in use; `status` and `body` are the answer once there is one. */
export type ClaimsTable = {
  scope: string
  key: string
  fingerprint: string
  owner: string
  lease_until: number
  created_at: number
  status: number | null
  headers: string | null
  body: string | null
}

/** Work for later. Queued while it has no owner, running while it has one, failed once `failed_at` is set. */
export type JobsTable = {
  id: string
  kind: string
  /** At most one job of a kind waits under a key. */
  key: string | null
  payload: string
  /** Not before this time; of a running job, when its lease ends and another may take it. */
  run_at: number
  owner: string | null
  attempts: number
  /** What went wrong last. */
  error: string | null
  failed_at: number | null
}
