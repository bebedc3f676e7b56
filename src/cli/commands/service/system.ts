import type { Command } from 'commander'
import type { System } from '../../../../sdk/client.ts'
import { takesStore } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { type Column, printJson, printRecord, printRows } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const SETTINGS: Column<System['settings'][number]>[] = [
  { title: 'SETTING', of: ({ setting }) => setting },
  { title: 'VALUE', of: ({ value }) => value },
  { title: 'FROM', of: ({ origin }) => origin },
]

export function system(command: Command, world: World): void {
  takesStore(command)
    .option('--settings', 'the configuration in force instead')
    .action(async (options: Common & { settings?: boolean }) => {
      const state = await withClientOrStore(world, options, (client) => client.system.get())
      if (options.json) return printJson(world, state)
      const { settings, storage, queues, ...rest } = state
      if (options.settings) return printRows(world, settings, SETTINGS, options)
      const waiting = Object.fromEntries(queues.map((one) => [`waiting ${one.queue}`, one.waiting]))
      const rows = Object.fromEntries(Object.entries(storage.rows).map(([name, count]) => [`rows ${name}`, count]))
      printRecord(world, { ...rest, ...waiting, bytes: storage.bytes, ...rows }, options)
    })
}
