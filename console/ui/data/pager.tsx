import type { Pagination } from '../../../sdk/client.ts'
import { countText } from '../../lib/text/format.ts'
import { setParams } from '../../lib/location.ts'
import { Button } from '../button.tsx'

/** Which rows are shown, out of how many. The page is in the URL. */
export function Pager({ pagination }: { pagination: Pagination | undefined }) {
  if (!pagination || pagination.total === 0) return null
  const { limit, offset, total, has_more } = pagination
  const to = (target: number) => setParams({ offset: target || undefined }, { push: true })
  return (
    <nav class="pager" aria-label="Pages">
      <span>
        {countText(offset + 1)}–{countText(Math.min(offset + limit, total))} of {countText(total)}
      </span>
      {(offset > 0 || has_more) && (
        <>
          <Button
            icon="left"
            label="Previous page"
            disabled={offset === 0}
            onClick={() => to(Math.max(0, offset - limit))}
          />
          <Button icon="right" label="Next page" disabled={!has_more} onClick={() => to(offset + limit)} />
        </>
      )}
    </nav>
  )
}
