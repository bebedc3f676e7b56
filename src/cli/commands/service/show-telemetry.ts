import type { Command } from 'commander'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { type Column, printJson, printRows } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

type Row = { name: string; labels: string; value: number }

const COLUMNS: Column<Row>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'LABELS', of: ({ labels }) => labels },
  { title: 'VALUE', of: ({ value }) => value },
]

export function telemetry(command: Command, world: World): void {
  takesService(command)
    .argument('[part]', 'only what has this in its name, such as queue')
    .action(async (part: string | undefined, options: Common) => {
      const { readings } = await withClient(world, options, (client) => client.telemetry.get())
      const wanted = readings.filter(({ name }) => part === undefined || name.includes(part))
      if (options.json) return printJson(world, wanted)
      // A person wants the sum and the count of a histogram. Its buckets are for machines.
      const rows = wanted.flatMap(({ samples }) => samples).filter(({ labels }) => labels['le'] === undefined)
      printRows(
        world,
        rows.map(({ name, labels, value }) => ({ name, value, labels: shown(labels) })),
        COLUMNS,
        options,
      )
    })
}

function shown(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}
