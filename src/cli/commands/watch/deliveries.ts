import type { Command } from 'commander'
import type { Delivery } from '../../../../sdk/client.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, printDone, printRecord } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<Delivery>[] = [
  { title: 'ID', of: (delivery) => delivery.id },
  { title: 'EVENT', of: (delivery) => delivery.event },
  { title: 'STATUS', of: (delivery) => delivery.status },
  { title: 'ATTEMPTS', of: (delivery) => delivery.attempt_count },
  { title: 'LAST', of: ({ attempts }) => attempts.at(-1)?.error ?? attempts.at(-1)?.response_status },
  { title: 'NEXT', of: (delivery) => delivery.next_attempt_at },
  { title: 'CREATED', of: (delivery) => delivery.created_at },
]

type ListOptions = Common & Limit & { status?: Delivery['status']; event?: Delivery['event'] }

/** Lists what was sent to a webhook, and sends it again. */
export function deliveries(command: Command, world: World): void {
  takesService(command.command('deliveries'))
    .description('List what was sent to a webhook, or show one delivery with its body; its id alone is enough')
    .argument('<webhook_id>', 'or the id of a delivery')
    .argument('[delivery_id]')
    .addOption(limitOption(20))
    .option('--status <status>', 'pending, delivered or failed')
    .option('--event <name>', 'of this event')
    .action(async (webhook: string, id: string | undefined, options: ListOptions) => {
      const found = id === undefined && webhook.startsWith('dlv_')
      if (found || id !== undefined) {
        const delivery = await withClient(world, options, ({ webhooks: of }) =>
          id === undefined ? of.findDelivery(webhook) : of.delivery(webhook, id),
        )
        return printRecord(world, delivery, options)
      }
      const { status, event } = options
      await withClient(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.webhooks.deliveries(webhook, { limit, status, event })),
      )
    })

  takesService(command.command('redeliver'))
    .description('Send a delivery again')
    .argument('<webhook_id>')
    .argument('<delivery_id>')
    .action(async (webhook: string, id: string, options: Common) => {
      const delivery = await withClient(world, options, (client) => client.webhooks.redeliver(webhook, id, options))
      printDone(world, delivery, options, `${id} is on its way again`)
    })
}
