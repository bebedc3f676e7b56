import type { Command } from 'commander'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperations } from '../../from-operations/operation-command.ts'
import type { World } from '../../world.ts'
import { statusOf, tellSecret } from '../watch/webhooks.ts'

const SPECS: CommandSpecs = {
  createCallback: {
    about: 'Get notified when one invocation ends. Prints only the secret to stdout, once',
    args: ['url'],
    done: ({ id, url }) => `Created ${id} for ${url}`,
    after: tellSecret,
  },
  listCallbacks: {
    about: 'List the callbacks of an invocation',
    columns: { of: ['id', 'name', 'url', ['STATUS', statusOf]] },
  },
  getCallback: {},
  deleteCallback: {
    about: 'Delete a callback and its queued deliveries',
    confirm: 'Delete {} and its queued deliveries?',
  },
}

export function callbacks(command: Command, world: World): void {
  addOperations(command, world, 'callbacks', SPECS)
}
