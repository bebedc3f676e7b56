import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { EXIT, Failure, usage } from '../../failure.ts'
import { note, print, printJson, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { AGENT_FILE } from './agent-file-name.ts'

const SCHEMA_FILE = '.moorage/agent.schema.json'
const NAME = /^(?!agt_)[a-z0-9][a-z0-9-]{0,62}$/

export function init(command: Command, world: World): void {
  command
    .argument('[name]', "the agent's name; without it the folder's")
    .option('-f, --file <file>', 'write it here', AGENT_FILE)
    .option('--force', 'replace a file that exists')
    .option('--json', 'print JSON')
    .action(async (given: string | undefined, options: { file: string; force?: boolean; json?: boolean }) => {
      const name = given ?? nameFrom(world.cwd)
      if (!NAME.test(name)) {
        throw usage(`"${name}" cannot be a name: 1 to 63 of a-z, 0-9 and -, starting with a letter or digit`)
      }
      const file = resolve(world.cwd, options.file)
      if (existsSync(file) && !options.force) {
        throw new Failure(
          EXIT.failed,
          `${options.file} exists already`,
          '  Give this agent a folder of its own, or replace the file with --force',
        )
      }
      const { agentSchema } = await import('./print-agent-schema.ts')
      const schema = join(dirname(file), SCHEMA_FILE)
      mkdirSync(dirname(schema), { recursive: true })
      writeFileSync(schema, `${JSON.stringify(agentSchema(), null, 2)}\n`)
      writeFileSync(file, template(name))
      success(world, `Wrote ${options.file} for the agent ${name}`)
      note(world, '  Next: moorage deploy v1')
      if (options.json) printJson(world, { name, file: options.file })
      else print(world, options.file)
    })
}

function nameFrom(folder: string): string {
  const plain = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
  return plain.replaceAll(/^-+|-+$/g, '').slice(0, 63) || 'agent'
}

function template(name: string): string {
  return `# yaml-language-server: $schema=${SCHEMA_FILE}
name: ${name}
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
