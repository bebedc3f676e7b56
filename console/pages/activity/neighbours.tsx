import { go } from '../../lib/location.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { activityQuery, requestInList } from './activity-query.ts'

/** To the request before or after this one, among those that pass the filters of the list it was found in. */
export function Neighbours({ request_id }: { request_id: string }) {
  const step = useAction(async (by: 1 | -1) => {
    const query = activityQuery()
    const position = await findPosition(query.offset)
    const target = position === undefined ? undefined : position + by
    const found = target === undefined || target < 0 ? undefined : (await load(target, 1)).data[0]
    if (!found || target === undefined) return toast(by > 0 ? 'This is the last one' : 'This is the first one')
    go(requestInList(found.request_id, Math.floor(target / query.limit) * query.limit))

    function load(offset: number, limit: number) {
      return service.invocations.listAll({ ...query, offset, limit })
    }
    /** New requests push it down the list: it is looked for on its page and on the one behind it. */
    async function findPosition(offset: number): Promise<number | undefined> {
      const { data } = await load(offset, 2 * query.limit)
      const i = data.findIndex((run) => run.request_id === request_id)
      return i < 0 ? undefined : offset + i
    }
  })
  return (
    <span class="neighbours">
      <Button icon="left" label="Previous in the list" isBusy={step.isBusy} onClick={() => void step.run(-1)} />
      <Button icon="right" label="Next in the list" isBusy={step.isBusy} onClick={() => void step.run(1)} />
    </span>
  )
}
