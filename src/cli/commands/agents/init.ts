import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { newWebhookSecret } from '../../../webhooks/signature.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { note, print, printJson, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { AGENT_FILE } from './agent-file-name.ts'

const SCHEMA_FILE = '.moorage/agent.schema.json'
const NAME = /^(?!agt_)[a-z0-9][a-z0-9-]{0,62}$/

type InitOptions = { file: string; remote?: boolean; force?: boolean; json?: boolean }

export function init(command: Command, world: World): void {
  command
    .argument('[name]', "the agent's name (default: the folder's name)")
    .option('-f, --file <file>', 'where to write it', AGENT_FILE)
    .option('--remote', 'create a remote agent, with its server; prints the signing secret to stdout')
    .option('--force', 'replace an existing file')
    .option('--json', 'print JSON')
    .action(async (given: string | undefined, options: InitOptions) => {
      const name = given ?? nameFrom(world.cwd)
      if (!NAME.test(name)) {
        throw usage(`"${name}" is not a valid name. Use 1 to 63 of a-z, 0-9 and -, starting with a letter or digit.`)
      }
      await (options.remote ? initRemote(world, name, options) : initModel(world, name, options))
    })
}

async function initModel(world: World, name: string, options: InitOptions): Promise<void> {
  const { file } = options
  await writeFiles(world, options, { [file]: template(name) })
  success(world, `Wrote ${file} for the agent ${name}`)
  note(world, '  Next: moorage deploy v1')
  if (options.json) printJson(world, { name, file })
  else print(world, file)
}

async function initRemote(world: World, name: string, options: InitOptions): Promise<void> {
  const { file } = options
  const { remoteTemplate } = await import('./remote-template.ts')
  const server = `${file.replace(/\.ya?ml$/, '')}.ts`
  const { secret_name, definition, program } = remoteTemplate(name, basename(server))
  await writeFiles(world, options, { [file]: definition, [server]: program })
  const secret = newWebhookSecret(randomBytes)
  success(world, `Wrote ${file} and ${server} for the agent ${name}`)
  note(
    world,
    '  This secret signs its calls and is shown once. Keep it as AGENT_SECRET, then, with moorage-sdk installed:',
  )
  note(world, `    node ${server}   # before Node 24.12: npx tsx ${server}`)
  note(world, `    echo "$AGENT_SECRET" | moorage secrets set ${secret_name} --hosts 127.0.0.1`)
  note(world, `    moorage deploy v1${file === AGENT_FILE ? '' : ` --file ${file}`}`)
  if (options.json) printJson(world, { name, file, server, secret_name, secret })
  else print(world, secret)
}

/** Writes all files or, if one exists, none. The first line of a definition tells editors where its schema is. */
async function writeFiles(world: World, { file, force }: InitOptions, texts: Record<string, string>): Promise<void> {
  const existing = Object.keys(texts).find((path) => existsSync(resolve(world.cwd, path)))
  if (existing !== undefined && !force) {
    throw new Failure(
      EXIT.failed,
      `${existing} already exists.`,
      '  Use another folder for this agent, or replace the file with --force.',
    )
  }
  const { agentSchema } = await import('./print-agent-schema.ts')
  const schema = join(dirname(resolve(world.cwd, file)), SCHEMA_FILE)
  mkdirSync(dirname(schema), { recursive: true })
  writeFileSync(schema, `${JSON.stringify(agentSchema(), null, 2)}\n`)
  for (const [path, text] of Object.entries(texts)) {
    const head = path === file ? `# yaml-language-server: $schema=${SCHEMA_FILE}\n` : ''
    writeFileSync(resolve(world.cwd, path), head + text)
  }
}

function nameFrom(folder: string): string {
  const plain = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
  return plain.replaceAll(/^-+|-+$/g, '').slice(0, 63) || 'agent'
}

function template(name: string): string {
  return `name: ${name}
description: Answers without any model key; change the model to make it think.

# provider/model. Built in and free: builtin/echo, builtin/script, builtin/recall.
# With a provider configured: openai/…, anthropic/…, or your own endpoint's name.
model: builtin/script

instructions: |
  You are ${name}. Answer briefly.

# Only builtin/script reads this.
script:
  rules:
    - match: { contains: hello }
      reply: Hello! You said "{{message}}".
  fallback: I am ${name}. Say hello.

# What every answer has to be, instead of words: JSON that fits a schema.
# output:
#   schema: { type: object, properties: { city: { type: string } }, required: [city] }

memory:
  history: 20 # turns of the session that the model sees
  recall: 5 # memories of the user that it is reminded of

limits:
  max_steps: 8
`
}
