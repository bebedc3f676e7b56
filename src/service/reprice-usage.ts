import { z } from 'zod'
import * as invocations from '../invocations/store.ts'
import type { Prices } from '../operation/project-snapshot.ts'
import { requireScope, requireService } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { usdOf } from '../runtime/models/usage.ts'
import { Label, TimeInput } from '../shapes.ts'
import type { LedgerLine } from '../usage/ledger-line.ts'
import { costOf, mostCostOf, priceText, ratesFor } from '../usage/prices/rates.ts'
import * as usage from '../usage/store.ts'

/** One request processes this many calls, so that others can write in between. */
const LINES_AT_ONCE = 200

export const repriceUsage = operation({
  id: 'repriceUsage',
  method: 'POST',
  path: '/v1/usage/reprice',
  summary: 'Reprice past usage',
  description:
    "Applies current prices to past calls, if prices were missing or wrong. Each request handles 200 calls and returns where to continue; `moorage usage reprice` repeats it until nothing is left. Sums and receipts change with the calls; budgets don't. A call whose model has no price now keeps its cost. If the request is interrupted, send it again.",
  access: { permission: 'manage' },
  audit: { target: null },
  idempotent: true,
  transaction: false,
  input: {
    body: z
      .strictObject({
        from: TimeInput.describe('Calls from this time on'),
        to: TimeInput.optional().describe('Calls before this time. Default: now'),
        after: Label(100).optional().describe('`next` from the previous reply'),
        scope: z
          .enum(['project', 'service'])
          .default('project')
          .describe('`service`: all projects; requires a key with access to all projects'),
      })
      .meta({ id: 'RepriceUsage' }),
  },
  answer: {
    data: z
      .object({
        looked_at: z.int().describe('Calls'),
        changed: z.int().describe('Calls whose cost changed'),
        priced: z.int().describe('Of these, calls that had no price before'),
        change_usd: z.number().describe('How much more all calls cost than before; negative if less'),
        next: z.string().nullable().describe('Send it as `after`; null: nothing is left'),
      })
      .meta({ id: 'RepricedUsage' }),
  },

  async run({ body }, { actor, db, now, prices, storage }) {
    requireScope(actor, null)
    if (body.scope === 'service') requireService(actor)
    const { from, to = now(), after } = body
    const project_id = body.scope === 'service' ? undefined : actor.scope.project_id
    const lines = await usage.listLines(db, { project_id, from, to, after }, LINES_AT_ONCE)
    const mended = (await Promise.all(lines.map((line) => mend(line, prices)))).filter((one) => one !== undefined)
    const changed = await storage.transaction(async (held) => {
      const done = await usage.updateCosts(held, mended)
      const requests = new Set(done.flatMap(({ line }) => (line.purpose === 'run' ? (line.request_id ?? []) : [])))
      await invocations.updateCosts(held, await usage.listCostsOf(held, [...requests]))
      return done
    })
    const change = changed.reduce((sum, { line, cost_nano }) => sum + cost_nano - (line.cost_nano ?? 0), 0)
    return {
      looked_at: lines.length,
      changed: changed.length,
      priced: changed.filter(({ line }) => line.cost_nano === null).length,
      change_usd: usdOf(change) ?? 0,
      next: lines.length < LINES_AT_ONCE ? null : (lines.at(-1)?.id ?? null),
    }
  },
})

/** The line with its cost at the current prices. Undefined if the price isn't known, or the cost is the same. */
async function mend(line: LedgerLine, prices: Prices): Promise<usage.MendedLine | undefined> {
  const price = await prices.find(line.project_id, line.model, line.created_at)
  if (!price) return undefined
  const rates = ratesFor(price, line.input_tokens)
  const cost_nano =
    line.status === 'lost'
      ? mostCostOf(price, line.input_tokens, line.output_tokens)
      : costOf(rates, line, line.status === 'completed' ? 'completed' : 'failed')
  return cost_nano === line.cost_nano ? undefined : { line, cost_nano, price: priceText(price, rates) }
}
