import type { Command } from 'commander'
import { takesStore } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import { parseJson, readHeader, readText } from '../../terminal/input.ts'
import { print, printJson } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

type ApiOptions = Common & { body?: string; header?: string[]; idempotencyKey?: string }

export function api(command: Command, world: World): void {
  takesStore(command)
    .argument('<method>', 'GET, POST, PUT, PATCH or DELETE')
    .argument('<path>', 'such as /v1/agents?limit=5')
    .option('-d, --body <json>', 'request body; @file reads a file, - reads stdin')
    .option('-H, --header <header...>', 'additional headers, as Name: value')
    .option('--idempotency-key <key>', 'makes your own retries safe')
    .action(async (method: string, path: string, options: ApiOptions) => {
      if (!path.startsWith('/')) throw usage('The path must start with /, such as /v1/agents')
      const call = {
        method: method.toUpperCase(),
        path,
        body: await readBody(world, options.body),
        headers: Object.fromEntries((options.header ?? []).map(readHeader)),
      }
      const request = { otp: options.otp, idempotencyKey: options.idempotencyKey }
      const reply = await withClientOrStore(world, options, (client) => client.request(call, request))
      if (typeof reply === 'string') print(world, reply.replace(/\n$/, ''))
      else printJson(world, reply)
    })
}

async function readBody(world: World, given: string | undefined): Promise<unknown> {
  return given === undefined ? undefined : parseJson(await readText(world, given), 'The body')
}
