import type { Command } from 'commander'
import type { CommandSpec } from '../../from-operations/command-spec.ts'
import { operationCommand } from '../../from-operations/operation-command.ts'
import type { World } from '../../world.ts'

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
