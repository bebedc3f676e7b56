import type { Command } from 'commander'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperations } from '../../from-operations/operation-command.ts'
import type { World } from '../../world.ts'

const SPECS: CommandSpecs = {
  createConsoleLink: false,
  listConsoleSessions: {
    name: 'sessions',
    about: 'List who is signed in to the console',
    columns: {
      of: [
        'id',
        ['WHO', ({ person_name, key_name }) => person_name ?? key_name],
        ['FROM', ({ address }) => address],
        ['SIGNED IN', ({ created_at }) => created_at],
        'last_used_at',
        ['ENDS', ({ expires_at }) => expires_at],
      ],
    },
  },
  endConsoleSession: {
    name: 'sign-out',
    about: 'End a console session. The browser must sign in again',
    confirm: 'End the session {}?',
    done: 'Ended {}',
  },
}

function consoleSessions(command: Command, world: World): void {
  addOperations(command, world, 'console', SPECS, { local: true })
}

export { consoleSessions as console }
