import type { Command } from 'commander'
import { usage } from '../../failure.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperations } from '../../from-operations/operation-command.ts'
import { warn } from '../../terminal/output.ts'
import { readSecret } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const SPECS: CommandSpecs = {
  setSecret: {
    about: 'Set a secret that tools use as {{secret.NAME}}. Asks for the value, or reads it from stdin',
    options: { value: false },
    async read({ body }, world) {
      if (body['hosts'] === undefined) {
        throw usage('Specify the hosts the secret can be sent to: --hosts api.example.com')
      }
      body['value'] = await readSecret(world, 'Value')
      if (body['value'] !== '') return
      throw usage('Specify the value on stdin: moorage secrets set <name> --hosts <host> < value.txt')
    },
    done: ({ name, hosts }) => `Set ${name} for ${hosts.join(', ')}`,
    after(world, { overridden }) {
      if (overridden) warn(world, 'moorage.yaml defines a secret with the same name, and that one is used.')
    },
  },
  listSecrets: {
    about: 'List secrets: names and hosts, never values',
    query: { sort: 'name' },
    columns: {
      of: ['name', 'hosts', 'updated_at', ['OVERRIDDEN', ({ overridden }) => (overridden ? 'by moorage.yaml' : 'no')]],
    },
  },
  deleteSecret: {
    name: 'remove',
    about: 'Delete a secret. Tools that use it fail from then on',
    confirm: 'Delete {}? Tools that use it fail from then on.',
  },
}

export function secrets(command: Command, world: World): void {
  addOperations(command, world, 'secrets', SPECS, { local: true })
}
