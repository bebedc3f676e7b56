import type { Command } from 'commander'
import type { Secret } from '../../../../sdk/client.ts'
import { list, takesStore, yesOption } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, printDone, warn } from '../../terminal/output.ts'
import { confirm, readSecret } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<Secret>[] = [
  { title: 'NAME', of: (secret) => secret.name },
  { title: 'HOSTS', of: (secret) => secret.hosts },
  { title: 'UPDATED', of: (secret) => secret.updated_at },
  { title: 'OVERRIDDEN', of: (secret) => (secret.overridden ? 'by moorage.yaml' : 'no') },
]

export function secrets(command: Command, world: World): void {
  takesStore(command.command('set'))
    .description('Set a secret that tools use as {{secret.NAME}}; its value is asked for, or read from stdin')
    .argument('<name>', 'such as CRM_TOKEN')
    .option('--hosts <list...>', 'hosts it may be sent to, such as api.example.com', list)
    .action(async (name: string, options: Common & { hosts?: string[] }) => {
      const { hosts } = options
      if (!hosts) throw usage('Say where it may be sent: --hosts api.example.com')
      const value = await readSecret(world, 'Value')
      if (value === '') throw usage('Send the value on stdin: moorage secrets set <name> --hosts <host> < value.txt')
      const secret = await withClientOrStore(world, options, (client) =>
        client.secrets.set(name, { value, hosts }, options),
      )
      if (secret.overridden) warn(world, 'moorage.yaml has a secret of this name, and that one is used')
      printDone(world, secret, options, `Set ${secret.name} for ${secret.hosts.join(', ')}`)
    })

  takesStore(command.command('list'))
    .alias('ls')
    .description('List secrets: names and hosts, never values')
    .addOption(limitOption())
    .action(async (options: Common & Limit) => {
      await withClientOrStore(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.secrets.list({ limit, sort: 'name' })),
      )
    })

  takesStore(command.command('remove'))
    .alias('rm')
    .description('Delete a secret; tools that name it fail from then on')
    .argument('<name>')
    .addOption(yesOption())
    .action(async (name: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Delete ${name}? Tools that name it fail from then on.`, options)
      const deleted = await withClientOrStore(world, options, (client) => client.secrets.delete(name, options))
      printDone(world, deleted, options, `Deleted ${name}`)
    })
}
