import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { complain, note } from '../../terminal/output.ts'
import { isInteractive, type World } from '../../world.ts'
import { bodyOf, speak, type TalkOptions, takesTalk } from './invoke.ts'

export function chat(command: Command, world: World): void {
  takesTalk(takesService(command))
    .argument('<agent>', 'id or name')
    .addHelpText('after', '\nA line is a message. Ctrl-C stops an answer, or ends the conversation; so does Ctrl-D.')
    .action(async (agent: string, options: Common & TalkOptions) => {
      const body = bodyOf({ session: `cli-${randomUUID()}`, user: 'cli', ...options })
      await withClient(world, options, async (client) => {
        const { name } = await client.agents.get(agent)
        if (isInteractive(world)) note(world, `Talking to ${name}. Ctrl-D ends it.`, 'dim')
        await converse(world, (message, signal) =>
          speak(world, client.agents.stream(name, { ...body, message }, { signal }), options),
        )
      })
    })
}

type Say = (message: string, signal: AbortSignal) => Promise<void>

async function converse(world: World, say: Say): Promise<void> {
  const { stdin, stderr, signal } = world
  const lines = createInterface({ input: stdin, output: stderr, terminal: isInteractive(world), prompt: '› ' })
  let answering: AbortController | undefined
  const interrupt = () => (answering ? answering.abort() : lines.close())
  lines.on('SIGINT', interrupt)
  signal.addEventListener('abort', interrupt)
  try {
    if (isInteractive(world)) lines.prompt()
    for await (const line of lines) {
      if (line.trim() !== '') {
        answering = new AbortController()
        await say(line, AbortSignal.any([signal, answering.signal])).catch((error: unknown) => {
          if (!isInteractive(world)) throw error
          if (answering?.signal.aborted) note(world, '\n(stopped)')
          else complain(world, error)
        })
        answering = undefined
      }
      signal.throwIfAborted()
      if (isInteractive(world)) lines.prompt()
    }
  } finally {
    signal.removeEventListener('abort', interrupt)
    lines.close()
  }
}
