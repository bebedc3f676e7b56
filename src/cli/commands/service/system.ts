import type { Command } from 'commander'
import type { System } from '../../../../sdk/client.ts'
import { versionText } from '../../../lib/version.ts'
import { operationCommand } from '../../from-operations/operation-command.ts'
import { type Column, printRecord, printRows } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const NODES: Column<System['nodes'][number]>[] = [
  { title: 'NODE', of: ({ node }) => node },
  { title: 'STATUS', of: ({ status }) => status },
  { title: 'VERSION', of: versionText },
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

type Row = { name: string; labels: string; value: number }

const READINGS: Column<Row>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'LABELS', of: ({ labels }) => labels },
  { title: 'VALUE', of: ({ value }) => value },
]

export function system(command: Command, world: World): void {
  operationCommand(command, world, 'getSystem', {
    local: true,
    more: (own) =>
      own
        .option('--settings', 'show the current configuration instead')
        .option('--nodes', "show the service's processes instead"),
    show(_world, { settings, storage, queues, nodes, schema, ...rest }, { options }) {
      if (options['nodes']) return printRows(world, nodes, NODES, {})
      if (options['settings']) return printRows(world, settings, SETTINGS, {})
      const waiting = Object.fromEntries(queues.map((one) => [`waiting ${one.queue}`, one.waiting]))
      const rows = Object.fromEntries(Object.entries(storage.rows).map(([name, count]) => [`rows ${name}`, count]))
      printRecord(
        world,
        { ...rest, schema: schema.current, nodes: nodes.length, ...waiting, bytes: storage.bytes, ...rows },
        {},
      )
    },
  })
}

export function telemetry(command: Command, world: World): void {
  operationCommand(command, world, 'getTelemetry', {
    more: (own) => own.argument('[part]', 'only metrics whose name contains this, such as queue'),
    json: ({ readings }, { words }) => readings.filter(({ name }) => name.includes(words[0] ?? '')),
    show(_world, { readings }, { words }) {
      const wanted = readings.filter(({ name }) => name.includes(words[0] ?? ''))
      // A person needs only the sum and the count of a histogram. Its buckets are for programs.
      const samples = wanted.flatMap((reading) => reading.samples).filter(({ labels }) => labels['le'] === undefined)
      const rows = samples.map(({ name, labels, value }) => ({ name, value, labels: labelText(labels) }))
      printRows(world, rows, READINGS, {})
    },
  })
}

function labelText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}
