import { type Command, InvalidArgumentError, Option } from 'commander'
import { DURATION_PATTERN, parseDuration } from '../lib/duration.ts'

/** Adds the options of every command that talks to a service. */
export function takesService(command: Command): Command {
  return command
    .optionsGroup('Options:')
    .option('--json', 'print JSON')
    .helpOption('-h, --help', 'show help')
    .optionsGroup('Service:')
    .option('--url <url>', 'URL of the service (MOORAGE_URL)')
    .option('--profile <name>', 'login profile to use (MOORAGE_PROFILE)')
    .option('--project <project>', 'project, if your key has access to all projects (MOORAGE_PROJECT)')
    .option('--otp <code>', 'one-time code, if the operation requires one')
    .optionsGroup('Options:')
}

/** Adds the options of commands that work on this machine's data when no key is configured. */
export function takesStore(command: Command): Command {
  return takesService(command)
    .optionsGroup('On the server:')
    .option('--local', 'read and change the local data directly, even if a key is configured')
    .addOption(configOption())
    .addOption(dataOption())
    .optionsGroup('Options:')
}

export function configOption(): Option {
  return new Option('-c, --config <file>', 'configuration file (moorage.yaml)')
}

export function dataOption(): Option {
  return new Option('--data <folder>', 'data directory (./data)')
}

/** Adds the options of commands that always work on this machine's data. */
export function takesData(command: Command): Command {
  return command.addOption(configOption()).addOption(dataOption()).option('--json', 'print JSON')
}

export function yesOption(): Option {
  return new Option('-y, --yes', 'skip the confirmation prompt')
}

export function integer(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

/** Reads how many items a list may show. */
export function count(text: string): number {
  const items = integer(text)
  if (items === 0) throw new InvalidArgumentError('It must be 1 or more.')
  return items
}

/** Reads `3600` or `1h` as whole seconds. */
export function seconds(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const length = DURATION_PATTERN.test(text) ? parseDuration(text) / 1000 : Number.NaN
  if (!Number.isInteger(length)) throw new InvalidArgumentError('It must be a duration such as 1h, or whole seconds.')
  return length
}

export function number(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.')
  return value
}

/** Reads an option `<list...>`: `a,b`, `a b` and repeated options all give the same list. */
export function list(text: string, before: string[] = []): string[] {
  return [...before, ...text.split(',').filter((item) => item !== '')]
}

/** The default file name of an agent. */
export const AGENT_FILE = 'agent.yaml'
