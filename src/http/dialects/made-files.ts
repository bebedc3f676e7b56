import type { CallRunner } from './dialect.ts'

/** The message for a client that sends files without text. */
export const ONLY_FILES = '(see the attached files)'

/** A file that a tool of the run has made, as results and receipts name it. */
export type MadeFile = { file_id: string; name: string; media_type: string; size: number }

/** The URL at which a client downloads a file with its own key. */
export function contentAddress(file_id: string, { url }: Pick<CallRunner, 'url'>): string {
  return `${url}/v1/files/${file_id}/content`
}
