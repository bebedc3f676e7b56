/** What an export contains only if it is requested. */
export const PARTS = ['receipts', 'logs', 'usage', 'metrics'] as const
export type TransferPart = (typeof PARTS)[number]
