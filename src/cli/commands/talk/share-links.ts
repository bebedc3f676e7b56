import type { Command } from 'commander'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperations } from '../../from-operations/operation-command.ts'
import { note, print } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const SPECS: CommandSpecs = {
  createLink: {
    about: 'Create a URL at which visitors can chat with an agent without a key',
    show(world, link) {
      print(world, link.url ?? link.id)
      note(world, `  ID: ${link.id}`)
      for (const warning of link.warnings ?? []) note(world, `  ${warning}`)
    },
  },
  listLinks: {
    about: "List an agent's links and how much they were used",
    columns: {
      of: [
        'id',
        'name',
        'status',
        'url',
        ['VISITORS', ({ used }) => used.visitors],
        ['MESSAGES', ({ used }) => used.messages],
        'expires_at',
      ],
    },
  },
  getLink: { alias: 'show', about: 'Show a link' },
  deleteLink: {
    about: 'Delete a link. Chats that are in progress end',
    confirm: 'Delete the link {}?',
    done: 'Deleted {}',
  },
}

export function links(command: Command, world: World): void {
  addOperations(command, world, 'links', SPECS)
}
