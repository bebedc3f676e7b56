import { text } from 'node:stream/consumers'
import { visible } from '../../lib/text/visible.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { isInteractive, type World } from '../world.ts'

/** Asks for confirmation. Without a terminal, --yes is required. */
export async function confirm(world: World, question: string, { yes }: { yes?: boolean }): Promise<void> {
  if (yes) return
  if (!isInteractive(world)) throw usage(`${question} Pass --yes to confirm without a terminal.`)
  const prompts = await import('@clack/prompts')
  const answer = await prompts.confirm({ ...streams(world), message: visible(question), initialValue: false })
  if (prompts.isCancel(answer)) throw interrupted()
  if (!answer) throw new Failure(EXIT.declined, 'Cancelled. Nothing was changed.')
}

type TextQuestion = { message: string; initial?: string | undefined; secret?: boolean; missing: string }

/** Asks for a text. Without a terminal, fails with `missing`, which says what to specify instead. */
export async function ask(world: World, { initial, secret, missing, ...question }: TextQuestion): Promise<string> {
  if (!isInteractive(world)) throw usage(missing)
  const prompts = await import('@clack/prompts')
  const message = visible(question.message)
  const answer = secret
    ? await prompts.password({ ...streams(world), message })
    : await prompts.text({ ...streams(world), message, ...(initial !== undefined && { initialValue: initial }) })
  if (prompts.isCancel(answer)) throw interrupted()
  return answer.trim()
}

/**
 * Asks for a secret on the terminal. Without a terminal, reads it from stdin. Secrets are never arguments, because
 * arguments appear in the shell's history and in the list of processes.
 */
export async function readSecret(world: World, message: string): Promise<string> {
  if (isInteractive(world)) return ask(world, { message, secret: true, missing: '' })
  return (await text(world.stdin)).replace(/\r?\n$/, '')
}

/** Questions go to stderr, because stdout is only for data. */
function streams({ stdin, stderr, signal }: World) {
  return { input: stdin, output: stderr, signal }
}

function interrupted(): Failure {
  return new Failure(EXIT.interrupted, 'Interrupted')
}
