import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { agentsOf, type GalleryExample, secretNameOf } from '../../../../gallery/example.ts'
import { newWebhookSecret } from '../../../webhooks/signature.ts'
import { AGENT_FILE } from '../../command.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { note, print, printJson, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const SCHEMA_FILE = '.moorage/agent.schema.json'
const NAME = /^(?!agt_)[a-z0-9][a-z0-9-]{0,62}$/

type InitOptions = { file: string; from?: string; remote?: boolean; force?: boolean; json?: boolean }

export function init(command: Command, world: World): void {
  command
    .argument('[name]', "the agent's name (default: the folder's name)")
    .option('-f, --file <file>', 'where to write it', AGENT_FILE)
    .option('--from <example>', 'start from an example of the gallery, for example support-desk')
    .option('--remote', 'create a remote agent, with its server; prints the signing secret to stdout')
    .option('--force', 'replace an existing file')
    .option('--json', 'print JSON')
    .action(async (given: string | undefined, options: InitOptions) => {
      const example = options.from === undefined ? undefined : await findExample(options.from)
      const name = given ?? example?.id ?? nameFrom(world.cwd)
      if (!NAME.test(name)) {
        throw usage(`"${name}" is not a valid name. Use 1 to 63 of a-z, 0-9 and -, starting with a letter or digit.`)
      }
      if (example) return initExample(world, name, example, options)
      await (options.remote ? initRemote(world, name, options) : initModel(world, name, options))
    })
}

async function findExample(id: string): Promise<GalleryExample> {
  const { GALLERY } = await import('../../../../gallery/gallery.ts')
  const found = GALLERY.find((example) => example.id === id)
  if (found) return found
  const known = GALLERY.map((example) => `  ${example.id.padEnd(20)} ${example.about}`)
  throw usage(`There is no example "${id}". Choose one of:\n${known.join('\n')}`)
}

/** Writes all agents of an example, and the programs and documents that come with them. */
async function initExample(world: World, name: string, example: GalleryExample, options: InitOptions): Promise<void> {
  const { stringify } = await import('yaml')
  const { file } = options
  const agents = agentsOf(example, name)
  for (const agent of agents) {
    if (!NAME.test(agent.name))
      throw usage(`"${name}" is too long: "${agent.name}" would be longer than 63 characters.`)
  }
  const fileOf = (agent: string) => (agent === name ? file : `${agent}.yaml`)
  const definitions = agents.map((agent) => [fileOf(agent.name), stringify(agent, { lineWidth: 100 })])
  const texts: Record<string, string> = { ...Object.fromEntries(definitions), ...example.files }
  await writeFiles(world, options, texts)
  const files = Object.keys(texts)
  const { server, schedule, tries } = example
  const { secret_name, secret } =
    agents.at(-1)?.kind === 'remote' ? { secret_name: secretNameOf(name), secret: newWebhookSecret(randomBytes) } : {}
  success(world, `Wrote ${files.join(', ')} for the agent ${name}`)
  if (secret) note(world, '  This secret signs its calls and is shown once. Keep it as AGENT_SECRET, then:')
  if (server) {
    if (server.install) note(world, `    ${server.install}`)
    note(world, `    node ${server.file}   # keep it running; the service must be allowed to call ${server.url}`)
  }
  if (secret) note(world, `    echo "$AGENT_SECRET" | moorage secrets set ${secret_name} --hosts 127.0.0.1`)
  for (const agent of agents) {
    const path = fileOf(agent.name)
    note(world, `    moorage deploy v1${path === AGENT_FILE ? '' : ` --file ${path}`}`)
  }
  if (schedule) {
    note(
      world,
      `    moorage schedules create ${name} "${schedule.message}" --cron "${schedule.cron}" --name ${schedule.name}`,
    )
  }
  note(world, `    moorage invoke ${name} "${tries[0]?.message}"`)
  if (options.json) printJson(world, { example: example.id, name, files, ...(secret && { secret_name, secret }) })
  else print(world, secret ?? file)
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

/**
 * Writes all files, or none if one of them exists. The first line of a definition tells editors where its schema is.
 */
async function writeFiles(world: World, { file, force }: InitOptions, texts: Record<string, string>): Promise<void> {
  const existing = Object.keys(texts).find((path) => existsSync(resolve(world.cwd, path)))
  if (existing !== undefined && !force) {
    throw new Failure(
      EXIT.failed,
      `${existing} already exists.`,
      '  Use another folder for this agent, or replace the file with --force.',
    )
  }
  const { agentSchema } = await import('./agent-file.ts')
  const schema = join(dirname(resolve(world.cwd, file)), SCHEMA_FILE)
  mkdirSync(dirname(schema), { recursive: true })
  writeFileSync(schema, `${JSON.stringify(agentSchema(), null, 2)}\n`)
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(dirname(resolve(world.cwd, path)), { recursive: true })
    const head = /\.ya?ml$/.test(path) ? `# yaml-language-server: $schema=${SCHEMA_FILE}\n` : ''
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
description: Answers with the rules under script. Set another model to get real answers.

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

# To get JSON that matches a schema instead of text:
# output:
#   schema: { type: object, properties: { city: { type: string } }, required: [city] }

memory:
  history: 20 # turns of the session that the model sees
  recall: 5 # the user's memories that are added to a message

limits:
  max_steps: 8
`
}
