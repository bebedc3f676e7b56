import type { Events, EventType } from '../../events.ts'
import { formatTime } from '../../lib/time.ts'
import type { Database } from '../../storage/database.ts'
import { writeRows } from '../../storage/journal/write-rows.ts'
import { DEFAULT_PROJECT } from '../../storage/tables/project-tables.ts'
import { type Budget, periodOf, presentScope, shownAmount } from '../budget.ts'
import { type BudgetCounter, counterWrite } from './counter-store.ts'

type TellParts = { events: Events; now(): number }

/** The thresholds that the counter has reached and that no event has reported. */
function reached({ amount, thresholds }: Budget, { used, told }: Pick<BudgetCounter, 'used' | 'told'>): number[] {
  return thresholds.filter((percent) => percent > told && used * 100 >= percent * amount)
}

/** Whether the counter has something for events to report. */
export function hasNews(budget: Budget, counter: BudgetCounter, isMet = false): boolean {
  return reached(budget, counter).length > 0 || (counter.exceeded === 0 && (isMet || isOver(budget, counter)))
}

/** A budget that refuses nothing is exceeded when more than its limit has been spent. */
function isOver({ action, amount }: Budget, { used }: BudgetCounter): boolean {
  return action === 'notify' && used > amount
}

/**
 * Reports each threshold that the counter has reached once; the mark that it was reported commits with the event. The
 * counter is locked. `isMet`: a call was refused because of it.
 */
export async function tellNews(
  db: Database,
  budget: Budget,
  counter: BudgetCounter,
  { events, now }: TellParts,
  isMet = false,
): Promise<void> {
  const thresholds = reached(budget, counter)
  const isExceeded = counter.exceeded === 0 && (isMet || isOver(budget, counter))
  if (thresholds.length === 0 && !isExceeded) return
  const told = thresholds.at(-1) ?? 0
  await writeRows(db, [counterWrite(counter, { told, exceeded: isExceeded ? 1 : 0 })])
  const emit = (type: EventType, more: object) =>
    events.emit(db, {
      type,
      // Events of the whole service are sent in the project that always exists.
      project_id: budget.project_id ?? DEFAULT_PROJECT,
      agent_id: budget.agent_id,
      data: () => ({ ...toldOf(budget, counter), ...more }),
      time: now(),
    })
  for (const threshold of thresholds) await emit('budget.threshold', { threshold })
  if (isExceeded) await emit('budget.exceeded', {})
}

function toldOf(budget: Budget, { subject, period_start, used }: BudgetCounter) {
  const { id, name, limit_kind, amount, per, action } = budget
  const { end } = periodOf(budget, period_start)
  return {
    budget_id: id,
    name,
    scope: presentScope(budget),
    subject: subject || null,
    limit: { [limit_kind]: shownAmount(budget, amount) },
    used: shownAmount(budget, used),
    per,
    action,
    resets_at: end === null ? null : formatTime(end),
  }
}
