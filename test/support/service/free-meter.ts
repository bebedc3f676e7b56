import type { RunMeter } from '../../../src/operation/spending.ts'

/** Lets every call be made, and writes nothing down. */
export const FREE_METER: RunMeter = {
  begin: async () => ({ max_output_tokens: undefined, end: () => 0 }),
  record: async () => 0,
  take: () => ({ writes: [], giveBack() {} }),
  flush: async () => {},
}
