import type { Command } from 'commander'
import { takesStore } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { printDone } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

type Reach = Common & { allProjects?: boolean }

export function pause(command: Command, world: World): void {
  takesReach(command)
    .argument('<reason>', 'why: clients whose messages are refused meanwhile are told')
    .action(async (reason: string, options: Reach) => {
      const body = { reason, scope: scopeOf(options) }
      const state = await withClientOrStore(world, options, (client) => client.pauses.begin(body, options))
      const again = options.allProjects ? 'moorage resume --all-projects' : 'moorage resume'
      printDone(world, state, options, `Paused the ${body.scope}: nothing runs until \`${again}\``)
    })
}

export function resume(command: Command, world: World): void {
  takesReach(command).action(async (options: Reach) => {
    const scope = scopeOf(options)
    const state = await withClientOrStore(world, options, (client) => client.pauses.end({ scope }, options))
    const still = state.paused ? `, but ${state.project ? 'the project' : 'the service'} is paused still` : ''
    printDone(world, state, options, `The ${scope} goes on${still}`)
  })
}

function takesReach(command: Command): Command {
  return takesStore(command).option('--all-projects', 'the whole service, not only this project')
}

function scopeOf({ allProjects }: Reach): 'project' | 'service' {
  return allProjects ? 'service' : 'project'
}
