/** What an export has only if it's asked for. */
export const PARTS = ['receipts', 'logs', 'usage', 'metrics'] as const
export type TransferPart = (typeof PARTS)[number]
