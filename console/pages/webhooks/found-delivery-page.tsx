import { useEffect } from 'preact/hooks'
import { go } from '../../lib/location.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import type { Params } from '../../routes.ts'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'

/** Leads from a delivery's ID to its page, whose URL also contains the webhook. */
export function FoundDeliveryPage({ params: { delivery: id = '' } }: { params: Params }) {
  const found = useResource(`find ${id}`, (signal) => service.webhooks.findDelivery(id, { signal }))
  useEffect(() => {
    if (found.data) go(`/webhooks/${found.data.webhook_id}/${id}`, { replace: true })
  }, [found.data])
  return (
    <Page title="Delivery" crumbs={[{ label: 'Webhooks', to: '/webhooks' }]}>
      <Failure error={found.error} retry={found.reload} />
    </Page>
  )
}
