import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import { takesService } from '../../command.ts'
import type { Common } from '../../connect/connect.ts'
import { addressOf } from '../../connect/service-address.ts'
import { note, print, printJson } from '../../terminal/output.ts'
import { isInteractive, type World } from '../../world.ts'

const OPENERS: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

export function open(command: Command, world: World): void {
  takesService(command).action(async (options: Common) => {
    const url = new URL('/docs', addressOf(world, options).url).href
    if (options.json) printJson(world, { url })
    else print(world, url)
    if (!isInteractive(world)) return
    const [opener, ...args] = OPENERS[process.platform] ?? ['xdg-open']
    const child = spawn(opener, [...args, url], { stdio: 'ignore', detached: true })
    const opened = await new Promise<boolean>((resolve) => {
      child.once('spawn', () => resolve(true))
      child.once('error', () => resolve(false))
    })
    child.unref()
    if (!opened) note(world, 'No browser found here: open the address yourself')
  })
}
