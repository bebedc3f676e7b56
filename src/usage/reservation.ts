import type { ProjectSnapshot } from '../operation/project-snapshot.ts'
import type { Spender } from '../operation/spending.ts'
import type { PlannedCall } from '../runtime/models/meter.ts'
import type { Cost } from '../runtime/models/usage.ts'
import type { Write } from '../storage/journal/rows.ts'
import type { LedgerLine } from './ledger-line.ts'

/** A line of a call that has not ended. */
export type OpenLine = Spender & Pick<LedgerLine, 'id' | 'step' | 'attempt' | 'model' | 'created_at'>

/** A call that must be counted in the budgets that apply to it. */
export type CountedCall = {
  line: OpenLine
  /** The run has made no call on this node before. */
  isFirst: boolean
  /** The project's snapshot from the time at which the call was planned. */
  project: ProjectSnapshot | undefined
}

/** A call that asks for room in the budgets that apply to it. */
export type ReservationRequest = CountedCall & {
  call: PlannedCall
  /** The most that the call can cost. Null if no price is known. */
  mostCost(input_tokens: number, output_tokens: number): Cost
}

/** The usage of an ended call. */
export type LineUse = Pick<LedgerLine, 'input_tokens' | 'output_tokens' | 'cost_nano'>

/** What a call has reserved in the budgets that apply to it. */
export type Reservation = {
  /** The longest answer allowed. Undefined: as planned. */
  max_output_tokens: number | undefined
  /**
   * The node for which the line is reserved. Undefined: the line isn't in the ledger yet, because no budget refuses.
   */
  owner: string | undefined
  /** What is added to the counters when the call has ended. */
  settled(used: LineUse): Write[]
  /** Undoes counting the line as lost. */
  found(): Write[]
}

/** Gives calls room in the budgets that apply to them. */
export type Desk = {
  /** Resolves with undefined if no budget applies to the call. Rejects with SpendingRefused if one has no room. */
  reserve(wanted: ReservationRequest): Promise<Reservation | undefined>
  /** Reserves nothing and refuses nothing: a remote agent reports that the call was made. */
  count(reported: CountedCall): Promise<Reservation | undefined>
  /** The call of this line has ended, and its usage is on its way to the store. */
  release(id: string): void
  /** This node's lines whose calls are in progress. */
  held(): ReadonlySet<string>
}

/** The line of an ended call, and what the call reserved in the budgets that apply to it. */
export type EndedLine = { line: LedgerLine; held: Reservation | undefined }
