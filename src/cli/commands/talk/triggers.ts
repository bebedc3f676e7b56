import type { Command } from 'commander'
import type { Trigger } from '../../../../sdk/client.ts'
import { usage } from '../../failure.ts'
import type { CommandInput, CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperation, addOperations } from '../../from-operations/operation-command.ts'
import { note, print } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

/** Options that stand for the most common `verify`. */
const verifiable = (command: Command) =>
  command
    .option('--scheme <name>', 'how requests are signed: github, stripe, slack, telegram, standard, bearer, none …')
    .option('--secret <name>', "the name of the project's secret that signs them")

const FIELDS = {
  name: { flags: '--name <text>' },
  verify: 'how requests are verified, as JSON; --scheme and --secret are shorter',
  enabled: false,
} as const

const SPECS: CommandSpecs = {
  createTrigger: {
    about: "Create a URL to which another service's events are sent",
    args: ['message...'],
    stdin: true,
    options: { ...FIELDS, kind: false },
    more: verifiable,
    read(asked) {
      readVerify(asked)
      if (asked.body['verify'] === undefined) {
        throw usage('Specify how requests are signed, such as --scheme github --secret GITHUB_SECRET.')
      }
    },
    show(world, trigger) {
      print(world, trigger.id)
      note(world, `  Send events to ${trigger.address}`)
    },
  },
  listTriggers: {
    about: "List an agent's triggers with their URLs",
    columns: {
      of: [
        'id',
        'name',
        ['SCHEME', ({ verify }) => verify.scheme],
        ['STATUS', statusOf],
        ['LAST', ({ last_delivery_at }) => last_delivery_at],
        'address',
      ],
    },
  },
  getTrigger: { alias: 'show', about: 'Show a trigger' },
  updateTrigger: {
    about: 'Change what a trigger does with events',
    options: { ...FIELDS, message: { flags: '-m, --message <text>' } },
    more: verifiable,
    read(asked) {
      readVerify(asked)
      if (Object.keys(asked.body).length === 0) throw usage('Specify what to change, such as --message "{{/text}}"')
    },
    done: 'Updated {}',
  },
  deleteTrigger: { about: 'Delete a trigger. Runs that it started continue' },
  testTrigger: {
    about: 'Show what an event would become, and start a run with --run',
    done: ({ outcome, reason, message, request_id }) =>
      [outcome + (reason === null ? '' : `: ${reason}`), message, request_id].filter(Boolean).join('\n'),
  },
  listTriggerDeliveries: {
    about: 'List what a trigger received',
    limit: 20,
    columns: { of: ['id', 'outcome', 'reason', 'user_id', 'request_id', 'repeats', 'created_at'] },
  },
  getTriggerDelivery: { about: 'Show what a trigger received, with the payload' },
  replayTriggerDelivery: {
    about: 'Start another run with the same payload, and print its request ID',
    show: (world, { request_id }) => print(world, request_id),
  },
}

export function triggers(command: Command, world: World): void {
  addOperations(command, world, 'triggers', SPECS)
  addOperation(command, world, 'updateTrigger', { ...enabling(false), name: 'disable', about: 'Disable a trigger' })
  addOperation(command, world, 'updateTrigger', { ...enabling(true), name: 'enable', about: 'Enable a trigger' })
}

const enabling = (enabled: boolean) => ({
  only: true,
  read({ body }: CommandInput) {
    body['enabled'] = enabled
  },
  done: enabled ? 'Enabled {}' : 'Disabled {}',
})

function readVerify({ body, options }: CommandInput): void {
  const { scheme, secret } = options as { scheme?: string; secret?: string }
  if (scheme !== undefined) body['verify'] = { scheme, ...(secret !== undefined && { secret }) }
  else if (secret !== undefined) throw usage('Specify --scheme with --secret.')
}

/** `disabled (key_revoked)` */
function statusOf({ enabled, disabled_reason }: Pick<Trigger, 'enabled' | 'disabled_reason'>): string {
  if (enabled) return 'enabled'
  return disabled_reason === 'requested' ? 'disabled' : `disabled (${disabled_reason})`
}
