import type { Command } from 'commander'
import type { System } from '../../../../sdk/client.ts'
import { versionText } from '../../../lib/version.ts'
import type { CommandSpec } from '../../from-operations/command-spec.ts'
import { operationCommand } from '../../from-operations/operation-command.ts'
import { type Column, printRecord, printRows } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const NODES: Column<System['nodes'][number]>[] = [
  'node',
  'status',
  ['VERSION', versionText],
  'started_at',
  'seen_at',
  ['RUNS', ({ runs_live }) => runs_live],
  ['BUSY %', ({ busy_percent }) => busy_percent],
  ['MB', ({ memory_bytes }) => Math.round(memory_bytes / 2 ** 20)],
]

const SETTINGS: Column<System['settings'][number]>[] = ['setting', 'value', ['FROM', ({ origin }) => origin]]

type Row = { name: string; labels: string; value: number }

const READINGS: Column<Row>[] = ['name', 'labels', 'value']

export function system(command: Command, world: World): void {
  operationCommand(command, world, 'getSystem', {
    local: true,
    more: (own) =>
      own
        .option('--settings', 'show the current configuration instead')
        .option('--nodes', "show the service's processes instead"),
    show(_world, { settings, storage, queues, nodes, schema, ...rest }, { options }) {
      if (options['nodes']) return printRows(world, nodes, NODES)
      if (options['settings']) return printRows(world, settings, SETTINGS)
      const waiting = Object.fromEntries(queues.map((one) => [`waiting ${one.queue}`, one.waiting]))
      const rows = Object.fromEntries(Object.entries(storage.rows).map(([name, count]) => [`rows ${name}`, count]))
      printRecord(world, {
        ...rest,
        schema: schema.current,
        nodes: nodes.length,
        ...waiting,
        bytes: storage.bytes,
        ...rows,
      })
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
      printRows(world, rows, READINGS)
    },
  })
}

function labelText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}

const LOCAL: Pick<CommandSpec, 'local' | 'options'> = {
  local: true,
  options: {
    scope: {
      flags: '--all-projects',
      about: 'the whole service, not only this project',
      value: (isWhole: boolean) => (isWhole ? 'service' : 'project'),
    },
  },
}

export function pause(command: Command, world: World): void {
  operationCommand(command, world, 'beginPause', {
    ...LOCAL,
    args: ['reason'],
    done: (_state, { body: { scope = 'project' } }) =>
      `Paused the ${scope}: nothing runs until \`moorage resume${scope === 'service' ? ' --all-projects' : ''}\``,
  })
}

export function resume(command: Command, world: World): void {
  operationCommand(command, world, 'endPause', {
    ...LOCAL,
    done({ paused, project }, { body: { scope = 'project' } }) {
      return `Resumed the ${scope}${paused ? `, but ${project ? 'the project' : 'the service'} is still paused` : ''}`
    },
  })
}
