import type { Command } from 'commander'
import type { Callback } from '../../../../sdk/client.ts'
import { takesService, yesOption } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, printDone, printRecord } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'
import { showSecret, statusOf } from '../watch/webhooks.ts'

const COLUMNS: Column<Callback>[] = [
  { title: 'ID', of: (callback) => callback.id },
  { title: 'NAME', of: (callback) => callback.name },
  { title: 'URL', of: (callback) => callback.url },
  { title: 'STATUS', of: statusOf },
]

export function callbacks(command: Command, world: World): void {
  takesService(command.command('create'))
    .description('Let an address hear how one invocation ends. The secret, shown once, is all that goes to stdout')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .argument('<address>', 'public https address')
    .option('--name <name>', 'a name of your own; the same name again replaces it')
    .action(async (agent: string, id: string, url: string, options: Common & { name?: string }) => {
      const body = { url, name: options.name }
      const callback = await withClient(world, options, (client) => client.callbacks.create(agent, id, body, options))
      showSecret(world, callback, options, `Created ${callback.id} for ${callback.url}`)
    })

  takesService(command.command('list'))
    .alias('ls')
    .description('List the callbacks of an invocation')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .addOption(limitOption())
    .action(async (agent: string, id: string, options: Common & Limit) => {
      await withClient(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.callbacks.list(agent, id, { limit })),
      )
    })

  takesService(command.command('get'))
    .description('Show a callback')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .argument('<callback>', 'id or name')
    .action(async (agent: string, id: string, callback: string, options: Common) => {
      const found = await withClient(world, options, (client) => client.callbacks.get(agent, id, callback))
      printRecord(world, found, options)
    })

  takesService(command.command('delete'))
    .alias('rm')
    .description('Delete a callback; what is queued for it is not sent')
    .argument('<agent>', 'id or name')
    .argument('<request_id>')
    .argument('<callback>', 'id or name')
    .addOption(yesOption())
    .action(async (agent: string, id: string, callback: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Delete ${callback}? What is queued for it is lost.`, options)
      const deleted = await withClient(world, options, (client) =>
        client.callbacks.delete(agent, id, callback, options),
      )
      printDone(world, deleted, options, `Deleted ${callback}`)
    })
}
