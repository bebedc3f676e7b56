import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { openKeyboard } from '../../terminal/keyboard.ts'
import { complain, note } from '../../terminal/output.ts'
import { isInteractive, type World } from '../../world.ts'
import { attachable, attachables, attachOption } from './files.ts'
import { bodyOf, speak, type TalkOptions, takesTalk } from './invoke.ts'
import { endWaiting } from './waiting.ts'

const LEAVING = new Set(['/exit', '/quit'])
const ATTACHING = /^\/attach\s+(.*\S)\s*$/

export function chat(command: Command, world: World): void {
  takesTalk(takesService(command))
    .argument('<agent>', 'ID or name')
    .addOption(attachOption())
    .addHelpText(
      'after',
      '\nEach line is a message. /attach FILE sends a file with the next message, --attach with the first.\nCtrl-C stops an answer. /exit, Ctrl-D or Ctrl-C at the prompt quits.',
    )
    .action(async (agent: string, options: Common & TalkOptions & { attach?: string[] }) => {
      const body = bodyOf({ session: `cli-${randomUUID()}`, user: 'cli', ...options })
      const attached = await attachables(world, options.attach)
      await withClient(world, options, async (client) => {
        const { name } = await client.agents.get(agent)
        if (isInteractive(world)) note(world, `Chatting with ${name}. Type /exit or press Ctrl-D to quit.`, 'dim')
        await converse(world, async (message, signal) => {
          const [, path] = ATTACHING.exec(message) ?? []
          if (path !== undefined) {
            attached.push(await attachable(world, path))
            return note(world, `${path} will be sent with your next message`, 'dim')
          }
          const asked = { ...body, message, attachments: attached.splice(0) }
          const last = await speak(world, client.agents.stream(name, asked, { signal }), options)
          if (last) throw await endWaiting(world, client, { agent: name, waiting: last, options })
        })
      })
    })
}

type Say = (message: string, signal: AbortSignal) => Promise<void>

async function converse(world: World, say: Say): Promise<void> {
  const { signal } = world
  let answering: AbortController | undefined
  const keyboard = openKeyboard(world, () => (answering ? answering.abort() : keyboard.close()))
  try {
    for (;;) {
      const line = await keyboard.next()
      if (line === undefined || LEAVING.has(line.trim())) break
      if (line.trim() === '') continue
      answering = new AbortController()
      keyboard.hide()
      await say(line, AbortSignal.any([signal, answering.signal])).catch((error: unknown) => {
        if (!isInteractive(world)) throw error
        if (answering?.signal.aborted) note(world, '\n(stopped)')
        else complain(world, error)
      })
      answering = undefined
    }
  } finally {
    keyboard.close()
  }
  signal.throwIfAborted()
}
