import type { Invocation } from '../../../sdk/client.ts'
import { go } from '../../lib/location.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { countText } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { activityQuery, requestInList } from './activity-query.ts'

const PART = 100
/** How many rows are searched for the open run. */
const SEARCHED = 1_000

/**
 * Links to the runs before and after this one, among those that match the filters of the list in which it was found.
 */
export function Neighbours({ request_id }: { request_id: string }) {
  const step = useAction(async (by: 1 | -1) => {
    const query = activityQuery()
    const position = await findPosition(request_id, query)
    if (position === undefined) {
      return toast(`This run isn't in the list, or it comes after the first ${countText(SEARCHED)} runs.`)
    }
    const target = position + by
    const found = target < 0 ? undefined : (await load({ ...query, offset: target, limit: 1 }))[0]
    if (!found) return toast(by > 0 ? 'This is the last run in the list.' : 'This is the first run in the list.')
    go(requestInList(found.request_id, Math.floor(target / query.limit) * query.limit))
  })
  return (
    <span class="neighbours">
      <Button icon="left" label="Previous in the list" isBusy={step.isBusy} onClick={() => void step.run(-1)} />
      <Button icon="right" label="Next in the list" isBusy={step.isBusy} onClick={() => void step.run(1)} />
    </span>
  )
}

type Query = ReturnType<typeof activityQuery>

/**
 * The run's position in the list. New runs move it down, and a link may contain no position, so it is searched for
 * starting from its page.
 */
async function findPosition(request_id: string, query: Query): Promise<number | undefined> {
  for (let offset = query.offset; offset < query.offset + SEARCHED; ) {
    const rows = await load({ ...query, offset, limit: PART })
    const i = rows.findIndex((run) => run.request_id === request_id)
    if (i >= 0) return offset + i
    if (rows.length === 0) return undefined
    // A page with large rows contains fewer of them than requested.
    offset += rows.length
  }
  return undefined
}

async function load(query: Query): Promise<Invocation[]> {
  return (await service.invocations.listAll(query)).data
}
