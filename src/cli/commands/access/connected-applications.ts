import type { Command } from 'commander'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperations } from '../../from-operations/operation-command.ts'
import type { World } from '../../world.ts'

const SPECS: CommandSpecs = {
  listConnectedApplications: {
    about: 'List MCP clients that people have connected by signing in',
    columns: {
      of: [
        'id',
        'name',
        ['CLIENT', ({ client_id }) => new URL(client_id).host],
        ['CONNECTED BY', ({ created_by, created_by_name }) => created_by_name ?? created_by],
        'last_used_at',
        'expires_at',
      ],
    },
  },
  revokeConnectedApplication: {
    about: "Revoke an application's access",
    confirm: 'Revoke the access of {}?',
    done: 'Revoked {}',
  },
}

export function applications(command: Command, world: World): void {
  addOperations(command, world, 'applications', SPECS, { local: true })
}
