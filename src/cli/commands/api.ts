import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { takesService } from '../command.ts'
import { type Common, withClient } from '../connect.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { printJson } from '../output.ts'
import type { World } from '../world.ts'

type ApiOptions = Common & { data?: string; header?: string[]; idempotencyKey?: string }

export function api(command: Command, world: World): void {
  takesService(command)
    .argument('<method>', 'GET, POST, PATCH or DELETE')
    .argument('<path>', 'such as /v1/agents?limit=5')
    .option('-d, --data <json>', 'body; @file reads a file, - reads stdin')
    .option('-H, --header <header...>', 'more headers, as Name: value')
    .option('--idempotency-key <key>', 'makes your own retries safe')
    .action(async (method: string, path: string, options: ApiOptions) => {
      const [, pathname = '', query] = /^([^?]*)\??(.*)$/s.exec(path) ?? []
      if (!pathname.startsWith('/')) throw usage('The path starts with /, such as /v1/agents')
      const call = {
        method: method.toUpperCase(),
        path: pathname,
        query: Object.fromEntries(new URLSearchParams(query)),
        body: await readBody(world, options.data),
        headers: Object.fromEntries((options.header ?? []).map(readHeader)),
      }
      const request = { otp: options.otp, idempotencyKey: options.idempotencyKey }
      printJson(world, await withClient(world, options, (client) => client.request(call, request)))
    })
}

async function readBody({ stdin, cwd }: World, given: string | undefined): Promise<unknown> {
  if (given === undefined) return undefined
  const isFile = given.startsWith('@')
  const content = given === '-' ? await text(stdin) : isFile ? readFile(resolve(cwd, given.slice(1))) : given
  try {
    return JSON.parse(content)
  } catch {
    throw usage('The body is not valid JSON')
  }
}

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Failure(EXIT.usage, `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

function readHeader(header: string): [string, string] {
  const [, name, value] = /^([^\s:]+):\s*(.*)$/.exec(header) ?? []
  if (name === undefined || value === undefined) throw usage(`"${header}" is no header: write Name: value`)
  return [name, value]
}
