import type { CallRunner } from './dialect.ts'

/** The message of a client that sends files and says nothing. */
export const ONLY_FILES = '(see the attached files)'

/** A file that a tool of a run has made, as results and receipts name it. */
export type MadeFile = { file_id: string; name: string; media_type: string; size: number }

/** Where a client downloads a file, with its own key. */
export function contentAddress(file_id: string, { url }: Pick<CallRunner, 'url'>): string {
  return `${url}/v1/files/${file_id}/content`
}
