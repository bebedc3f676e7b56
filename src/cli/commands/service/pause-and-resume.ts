import type { Command } from 'commander'
import { takesStore } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { printJson, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

type Reach = Common & { allProjects?: boolean }

export function pause(command: Command, world: World): void {
  takesReach(command)
    .argument('<reason>', 'why: clients whose messages are refused meanwhile are told')
    .action(async (reason: string, options: Reach) => {
      const body = { reason, scope: scopeOf(options) }
      const state = await withClientOrStore(world, options, (client) => client.pauses.begin(body, options))
      if (options.json) return printJson(world, state)
      const again = options.allProjects ? 'moorage resume --all-projects' : 'moorage resume'
      success(world, `Paused the ${body.scope}: nothing runs until \`${again}\``)
    })
}

export function resume(command: Command, world: World): void {
  takesReach(command).action(async (options: Reach) => {
    const scope = scopeOf(options)
    const state = await withClientOrStore(world, options, (client) => client.pauses.end({ scope }, options))
    if (options.json) return printJson(world, state)
    const other = state.project ? 'the project' : 'the service'
    success(world, state.paused ? `The ${scope} goes on, but ${other} is paused still` : `The ${scope} goes on`)
  })
}

function takesReach(command: Command): Command {
  return takesStore(command).option('--all-projects', 'the whole service, not only this project')
}

function scopeOf({ allProjects }: Reach): 'project' | 'service' {
  return allProjects ? 'service' : 'project'
}
