import type { Command } from 'commander'
import type { Client, Webhook } from '../../../../sdk/client.ts'
import { withoutUndefined } from '../../../lib/without-undefined.ts'
import { list, seconds, takesService, yesOption } from '../../command.ts'
import { agentNames, type NameOf } from '../../connect/agent-names.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { gather, type Limit, limitOption } from '../../terminal/gather.ts'
import {
  type Column,
  note,
  print,
  printDone,
  printJson,
  printRecord,
  printRows,
  success,
} from '../../terminal/output.ts'
import { progress } from '../../terminal/progress.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'
import { deliveries } from './deliveries.ts'
import { listen } from './listen.ts'
import { verify } from './verify-webhook.ts'

const columns = (nameOf: NameOf): Column<Webhook>[] => [
  { title: 'ID', of: (webhook) => webhook.id },
  { title: 'URL', of: (webhook) => webhook.url },
  { title: 'AGENT', of: (webhook) => (webhook.agent_id === null ? 'all' : nameOf(webhook.agent_id)) },
  { title: 'EVENTS', of: (webhook) => webhook.events },
  { title: 'STATUS', of: statusOf },
]

/** `disabled (failing)` */
export function statusOf({ status, disabled_reason }: Pick<Webhook, 'status' | 'disabled_reason'>): string {
  return disabled_reason === null ? status : `${status} (${disabled_reason})`
}

type Body = Parameters<Client['webhooks']['create']>[0]
type FieldOptions = { agent?: string; events?: Body['events']; description?: string }

export function webhooks(command: Command, world: World): void {
  takesService(command.command('create'))
    .description('Create a webhook. Its secret, shown once, is all that goes to stdout')
    .argument('<url>', 'public https address')
    .option('--events <list...>', 'agent.completed, agent.failed, …; * is all', list)
    .option('--agent <agent>', 'only events of this agent')
    .option('--description <text>', 'what it is for')
    .action(async (url: string, options: Common & FieldOptions) => {
      const { agent, events, description } = options
      if (!events) throw usage('Say which events: --events agent.completed,agent.failed or --events "*"')
      const webhook = await withClient(world, options, (client) =>
        client.webhooks.create({ url, events, agent_id: agent, description }, options),
      )
      showSecret(world, webhook, options, `Created ${webhook.id} for ${webhook.url}`)
    })

  takesService(command.command('list'))
    .alias('ls')
    .description('List webhooks')
    .addOption(limitOption())
    .option('--agent <agent>', 'of this agent')
    .option('--status <status>', 'enabled or disabled')
    .action(async (options: Common & Limit & { agent?: string; status?: Webhook['status'] }) => {
      const query = { agent_id: options.agent, status: options.status }
      await withClient(world, options, async (client) => {
        const found = await gather(world, options, (limit) => client.webhooks.list({ ...query, limit }))
        const nameOf = await agentNames(client, options.json ? [] : found.map((webhook) => webhook.agent_id))
        printRows(world, found, columns(nameOf), options)
      })
    })

  takesService(command.command('get'))
    .description('Show a webhook')
    .argument('<webhook_id>')
    .action(async (id: string, options: Common) => {
      printRecord(world, await withClient(world, options, (client) => client.webhooks.get(id)), options)
    })

  addUpdate(command, world)

  takesService(command.command('delete'))
    .alias('rm')
    .description('Delete a webhook; what is queued for it is not sent')
    .argument('<webhook_id>')
    .addOption(yesOption())
    .action(async (id: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Delete ${id}? What is queued for it is lost.`, options)
      const deleted = await withClient(world, options, (client) => client.webhooks.delete(id, options))
      printDone(world, deleted, options, `Deleted ${id}`)
    })

  takesService(command.command('rotate-secret'))
    .description('Give a webhook a new secret, which is all that goes to stdout')
    .argument('<webhook_id>')
    .option('--grace <duration>', 'how long deliveries carry both signatures (24h)', seconds)
    .action(async (id: string, options: Common & { grace?: number }) => {
      const body = { grace_period_seconds: options.grace }
      const webhook = await withClient(world, options, (client) => client.webhooks.rotateSecret(id, body, options))
      showSecret(world, webhook, options, `Rotated the secret of ${webhook.id}`)
    })

  takesService(command.command('test'))
    .description('Send a ping now and tell how it was received')
    .argument('<webhook_id>')
    .action(async (id: string, options: Common) => {
      const result = await withClient(world, options, (client) =>
        progress(world, 'Sending a ping', () => client.webhooks.test(id, options)),
      )
      if (options.json) printJson(world, result)
      else if (result.delivered) success(world, `Received: ${result.response_status} in ${result.duration_ms} ms`)
      if (result.delivered) return
      throw new Failure(EXIT.failed, `Not received: ${result.error} ${result.response_status ?? ''}`.trim())
    })

  deliveries(command, world)
  listen(command.command('listen'), world)
  verify(command.command('verify'), world)
}

function addUpdate(command: Command, world: World): void {
  takesService(command.command('update'))
    .description('Change a webhook, or enable one that was disabled')
    .argument('<webhook_id>')
    .option('--target <url>', 'a new address')
    .option('--events <list...>', 'the events from now on', list)
    .option('--status <status>', 'enabled or disabled')
    .option('--description <text>', 'what it is for')
    .action(async (id: string, options: Common & FieldOptions & { target?: string; status?: Webhook['status'] }) => {
      const { target: url, events, status, description } = options
      const fields = withoutUndefined({ url, events, status, description })
      if (Object.keys(fields).length === 0) {
        const hint =
          options.url === undefined ? undefined : "  --url is the service's address; --target changes the webhook's"
        throw usage('Say what to change, such as --status enabled', hint)
      }
      const webhook = await withClient(world, options, (client) => client.webhooks.update(id, fields, options))
      printDone(world, webhook, options, `Updated ${id}`)
    })
}

export function showSecret(world: World, webhook: { secret: string }, { json }: Common, told: string): void {
  if (json) return printJson(world, webhook)
  success(world, told)
  note(world, '  Verify deliveries with this secret: `moorage webhooks verify --help`')
  print(world, webhook.secret)
}
