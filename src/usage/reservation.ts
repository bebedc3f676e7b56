import type { ProjectSnapshot } from '../operation/project-snapshot.ts'
import type { Spender } from '../operation/spending.ts'
import type { PlannedCall } from '../runtime/models/meter.ts'
import type { Cost } from '../runtime/models/usage.ts'
import type { Write } from '../storage/journal/rows.ts'
import type { LedgerLine } from './ledger-line.ts'

/** A line of a call that has not ended. */
export type OpenLine = Spender & Pick<LedgerLine, 'id' | 'step' | 'attempt' | 'model' | 'created_at'>

/** A call that is to be counted in the budgets over it. */
export type CountedCall = {
  line: OpenLine
  /** The run has made no call before on this node. */
  isFirst: boolean
  /** That of the line, as it was when the call was planned. */
  project: ProjectSnapshot | undefined
}

/** A call that asks for room in the budgets over it. */
export type ReservationRequest = CountedCall & {
  call: PlannedCall
  /** The most that the call may cost. Null if no price is known. */
  mostCost(input_tokens: number, output_tokens: number): Cost
}

/** What an ended call has used. */
export type LineUse = Pick<LedgerLine, 'input_tokens' | 'output_tokens' | 'cost_nano'>

/** What a call holds of the budgets over it. */
export type Reservation = {
  /** The most that the answer may have. Undefined: what was planned. */
  max_output_tokens: number | undefined
  /** The node in whose name the line is reserved. Undefined: the line is not in the ledger yet, because no budget refuses. */
  owner: string | undefined
  /** What the counters get when the call has ended. */
  settled(used: LineUse): Write[]
  /** What takes back that the line was counted as lost. */
  found(): Write[]
}

/** Gives calls room in the budgets over them. */
export type Desk = {
  /** Resolves with undefined if no budget is over the call. Rejects with SpendingRefused if one has no room. */
  reserve(wanted: ReservationRequest): Promise<Reservation | undefined>
  /** Holds nothing and refuses nothing: a remote agent reports that the call was made. */
  count(reported: CountedCall): Promise<Reservation | undefined>
  /** The call of this line has ended, and what it used is on its way to the store. */
  release(id: string): void
  /** The lines of this node whose calls are in progress. */
  held(): ReadonlySet<string>
}

/** The line of a call that has ended, and what the call held of the budgets over it. */
export type EndedLine = { line: LedgerLine; held: Reservation | undefined }
