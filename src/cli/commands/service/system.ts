import type { Command } from 'commander'
import type { System } from '../../../../sdk/client.ts'
import { takesStore } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { type Column, printJson, printRecord, printRows } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const NODES: Column<System['nodes'][number]>[] = [
  { title: 'NODE', of: ({ node }) => node },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'VERSION', of: ({ version }) => version },
  { title: 'STARTED', of: ({ started_at }) => started_at },
  { title: 'SEEN', of: ({ seen_at }) => seen_at },
  { title: 'RUNS', of: ({ runs_live }) => runs_live },
  { title: 'BUSY %', of: ({ busy_percent }) => busy_percent },
  { title: 'MB', of: ({ memory_bytes }) => Math.round(memory_bytes / 2 ** 20) },
]

const SETTINGS: Column<System['settings'][number]>[] = [
  { title: 'SETTING', of: ({ setting }) => setting },
  { title: 'VALUE', of: ({ value }) => value },
  { title: 'FROM', of: ({ origin }) => origin },
]

export function system(command: Command, world: World): void {
  takesStore(command)
    .option('--settings', 'the configuration in force instead')
    .option('--nodes', 'the processes that serve the database instead')
    .action(async (options: Common & { settings?: boolean; nodes?: boolean }) => {
      const state = await withClientOrStore(world, options, (client) => client.system.get())
      if (options.json) return printJson(world, state)
      const { settings, storage, queues, nodes, ...rest } = state
      if (options.nodes) return printRows(world, nodes, NODES, options)
      if (options.settings) return printRows(world, settings, SETTINGS, options)
      const waiting = Object.fromEntries(queues.map((one) => [`waiting ${one.queue}`, one.waiting]))
      const rows = Object.fromEntries(Object.entries(storage.rows).map(([name, count]) => [`rows ${name}`, count]))
      printRecord(world, { ...rest, nodes: nodes.length, ...waiting, bytes: storage.bytes, ...rows }, options)
    })
}
