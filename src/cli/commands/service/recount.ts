import type { Command } from 'commander'
import { configOption, dataOption } from '../../command.ts'
import type { Common } from '../../connect/connect.ts'
import { printJson, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

export function recount(command: Command, world: World): void {
  command
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'print JSON')
    .action(async (options: Common) => {
      const { openLocalStore } = await import('../../connect/local-store.ts')
      const counts = await import('../../../storage/queries/counts.ts')
      const store = await openLocalStore(world, options)
      try {
        await store.parts.storage.transaction((db) => counts.recount(db))
        if (options.json) printJson(world, { recounted: true })
        else success(world, `Counted anew (${store.name})`)
      } finally {
        await store.close()
      }
    })
}
