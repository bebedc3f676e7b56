import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { verifySignature, verifyWebhook, WebhookVerificationError } from '../../../../sdk/webhook.ts'
import { seconds } from '../../command.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { readFile, readHeader, readText } from '../../terminal/input.ts'
import { print, success } from '../../terminal/output.ts'
import { ask } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

type VerifyOptions = { body: string; header?: string[]; secretFile?: string; tolerance: number }

/** Checks a saved delivery as a receiver should. */
export function verify(command: Command, world: World): void {
  command
    .description('Check the signature of a saved delivery. Needs no service')
    .requiredOption('--body <body>', 'the exact body; @file reads a file, - reads stdin')
    .option('-H, --header <header...>', 'the headers, as Name: value')
    .option('--secret-file <file>', 'file with the secret (default: WEBHOOK_SECRET, or a prompt)')
    .option('--json', 'print JSON')
    .addOption(
      new Option('--tolerance <duration>', 'maximum age of the delivery').argParser(seconds).default(300, '5m'),
    )
    .action(async (options: VerifyOptions) => {
      const secret = await readSecret(world, options)
      const headers = Object.fromEntries((options.header ?? []).map(readHeader))
      const body = await readText(world, options.body)
      const signature = new Headers(headers).get('x-service-signature')
      if (signature !== null && !new Headers(headers).has('webhook-signature')) {
        if (!(await verifySignature(body, signature, secret))) throw refused('X-Service-Signature does not match')
        return success(world, 'X-Service-Signature is valid. It does not cover the time of sending.')
      }
      try {
        const event = await verifyWebhook({ body, headers, secret, toleranceSeconds: options.tolerance })
        success(world, 'The signature is valid')
        print(world, JSON.stringify(event, null, 2))
      } catch (error) {
        if (error instanceof WebhookVerificationError) throw refused(error.message)
        throw error
      }
    })
}

async function readSecret(world: World, { secretFile }: VerifyOptions): Promise<string> {
  if (secretFile !== undefined) return readFile(resolve(world.cwd, secretFile)).trim()
  if (world.env.WEBHOOK_SECRET) return world.env.WEBHOOK_SECRET
  const missing = 'Specify the secret with --secret-file or WEBHOOK_SECRET.'
  const secret = await ask(world, { message: 'Webhook secret', secret: true, missing })
  if (secret === '') throw usage(missing)
  return secret
}

function refused(message: string): Failure {
  return new Failure(EXIT.failed, `Invalid signature: ${message}`)
}
