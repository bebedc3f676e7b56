import type { RunMeter } from '../../../src/operation/spending.ts'

/** Allows every call, and records nothing. */
export const FREE_METER: RunMeter = {
  begin: async () => ({ max_output_tokens: undefined, end: () => 0 }),
  record: async () => 0,
  take: () => ({ writes: [], giveBack() {} }),
  flush: async () => {},
}
