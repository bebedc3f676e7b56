import { type Command, Option } from 'commander'
import type { OperationId } from '../../../sdk/call.ts'
import type { Client } from '../../../sdk/client.ts'
import { counted } from '../../lib/text/counted.ts'
import { takesService, takesStore, yesOption } from '../command.ts'
import { withClient, withClientOrStore } from '../connect/connect.ts'
import { usage } from '../failure.ts'
import { gather, limitOption } from '../terminal/gather.ts'
import { readMessage } from '../terminal/input.ts'
import { note, print, printJson, printRecord, success } from '../terminal/output.ts'
import { progress } from '../terminal/progress.ts'
import { confirm } from '../terminal/prompts.ts'
import type { World } from '../world.ts'
import type { CommandField, CommandRow } from './command-row.ts'
import type { CommandInput, CommandOptions, CommandSpec, CommandSpecs, SentFields } from './command-spec.ts'
import { COMMAND_TABLE } from './command-table.ts'
import { aboutField, fieldOption, fieldValue, flagsOf, type OwnOption, ownFields } from './field-option.ts'
import { type Columns, printTable } from './item-table.ts'

type Setup = (command: Command, world: World) => void

/**
 * A command with a subcommand for each operation of an SDK group: first those in `specs`, in their order, then all
 * others, so a new operation has a command as soon as it is declared. `also` adds those that aren't operations.
 */
export function serviceCommands(group: string, specs: CommandSpecs, also?: Setup, local = false): Setup {
  const others = Object.keys(COMMAND_TABLE).filter((id) => COMMAND_TABLE[id]?.group === group && !(id in specs))
  return (command, world) => {
    for (const id of [...Object.keys(specs), ...others] as OperationId[]) {
      for (const spec of [specs[id] ?? {}].flat()) {
        if (spec !== false) addOperation(command, world, id, { local, ...(spec as CommandSpec) })
      }
    }
    also?.(command, world)
  }
}

/** The same for commands that can work on this machine's data. */
export function storeCommands(group: string, specs: CommandSpecs, also?: Setup): Setup {
  return serviceCommands(group, specs, also, true)
}

function addOperation(parent: Command, world: World, id: OperationId, spec: CommandSpec): void {
  const row = rowOf(id)
  const name = spec.name ?? row.name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const command = parent.command(name, { isDefault: spec.isDefault === true }).description(spec.about ?? aboutOf(row))
  if (name === 'list') command.alias('ls')
  if (name === 'delete' || name === 'remove') command.alias('rm')
  if (spec.alias) command.alias(spec.alias)
  operationCommand(command, world, id, spec)
}

function rowOf(id: OperationId): CommandRow {
  const row = COMMAND_TABLE[id]
  if (!row) throw new Error(`${id} has no row in the table of commands: run npm run sdk:types`)
  return row
}

/** Makes `command` call the operation. */
export function operationCommand<Id extends OperationId>(
  command: Command,
  world: World,
  id: Id,
  of: CommandSpec<Id>,
): void {
  const row = rowOf(id)
  const spec = of as unknown as CommandSpec
  if (spec.local) takesStore(command)
  else takesService(command)
  const params = row.params.filter(({ name }) => spec.params?.[name] !== false)
  for (const { name, about = '' } of params) {
    const isByName = about.endsWith('ID or name')
    const shown = spec.params?.[name] || (isByName ? `${name.replace('_id', '')} ID or name` : name)
    const [word = name, ...rest] = shown.split(' ')
    command.argument(word.startsWith('[') ? word : `<${word}>`, rest.join(' '))
  }
  const args = argumentsOf(row, spec)
  for (const { field, isLong, isOptional } of args) {
    const word = `${field.path.split('.').at(-1)}${isLong ? '...' : ''}`
    const { about: said = aboutField(field) } = ownFields(spec.options?.[field.path])
    const about = [said, spec.stdin && 'read from stdin if not given'].filter(Boolean).join('; ')
    command.argument(isOptional ? `[${word}]` : `<${word}>`, about)
  }
  if (row.kind === 'list') {
    command.addOption(limitOption(spec.limit))
    if (row.sorts) command.option('--sort <field>', `${row.sorts.join(', ')}; - before it for descending order`)
  }
  const options = optionsOf(
    row,
    spec,
    args.map(({ field }) => field),
  )
  for (const { option } of options) command.addOption(option)
  spec.more?.(command)
  if (isConfirmed(row, spec)) command.addOption(yesOption())
  command.action((...received: unknown[]) => {
    const given = received.slice(0, -2)
    return act(world, row, spec, { given, options: command.opts<CommandOptions>(), fields: options, args, params })
  })
}

type Argument = { field: CommandField; isLong: boolean; isOptional: boolean }

function argumentsOf({ fields }: CommandRow, { args = [], stdin }: CommandSpec): Argument[] {
  return args.map((arg) => {
    const path = arg.replaceAll(/[[\].]/g, '')
    const field = fields.find((one) => one.path === path)
    if (!field) throw new Error(`There is no field ${path}`)
    return { field, isLong: arg.includes('...'), isOptional: stdin === true || arg.startsWith('[') }
  })
}

type FieldOption = { field: CommandField; option: Option; own: OwnOption | undefined }

function optionsOf({ fields }: CommandRow, { options = {}, only }: CommandSpec, args: CommandField[]): FieldOption[] {
  return fields.flatMap((field) => {
    const own = options[field.path]
    if (own === false || (only && own === undefined) || args.includes(field)) return []
    return [{ field, option: fieldOption(field, own), own }]
  })
}

function isConfirmed({ method }: CommandRow, { confirm: question }: CommandSpec): boolean {
  return question === undefined ? method === 'DELETE' : question !== false
}

type CommandCall = {
  given: unknown[]
  options: CommandOptions
  fields: FieldOption[]
  args: Argument[]
  params: readonly { name: string }[]
}

async function act(world: World, row: CommandRow, spec: CommandSpec, received: CommandCall): Promise<void> {
  const { options } = received
  const asked = await readAsked(world, spec, received)
  await spec.read?.(asked, world)
  requireFields(row, asked, received)
  if (isConfirmed(row, spec)) await confirm(world, questionOf(spec, asked), options)
  await (spec.local ? withClientOrStore : withClient)(world, options, async (client) => {
    await spec.find?.(asked, client)
    const single = await spec.single?.(client, asked)
    if (single) return printRecord(world, single, options)
    if (row.kind === 'list') return listItems(world, client, row, spec, asked)
    const work = () => (spec.call ? spec.call(client, asked) : callOne(client, row, asked))
    const data = await (spec.waiting ? progress(world, spec.waiting, work) : work())
    if (row.kind === 'lines') return printLines(world, data as AsyncIterable<unknown>)
    if (options.json) printJson(world, spec.json ? spec.json(data as never, asked, world) : data)
    else await spec.show?.(world, data as never, asked, client)
    spec.verify?.(data as never, asked)
    if (!options.json && !spec.show) tell(world, row, spec, data as never, asked)
  })
}

async function readAsked(world: World, spec: CommandSpec, received: CommandCall): Promise<CommandInput> {
  const { given, options, fields, args, params } = received
  const asked: CommandInput = { params: {}, body: {}, query: { ...spec.query }, options, ref: '', words: [] }
  for (const [index, { name }] of params.entries()) {
    if (given[index] !== undefined) asked.params[name] = given[index] as string
  }
  asked.words = given
    .slice(params.length + args.length)
    .flat()
    .filter((word) => word !== undefined) as string[]
  asked.ref = asked.params[params.at(-1)?.name ?? ''] ?? ''
  for (const [index, { field, isLong }] of args.entries()) {
    const word = given[params.length + index]
    if (spec.stdin && index === args.length - 1)
      put(asked, field, await readMessage(world, [word ?? []].flat() as string[]))
    else if (isLong) put(asked, field, (word as string[]).join(' ') || undefined)
    else put(asked, field, word)
  }
  for (const { field, option, own } of fields) {
    const value = options[option.attributeName()]
    if (value !== undefined) put(asked, field, await fieldValue(world, field, value, own))
  }
  if (typeof options['sort'] === 'string') asked.query['sort'] = options['sort']
  return asked
}

function put(asked: CommandInput, field: CommandField, value: unknown): void {
  if (value === undefined) return
  const [name = '', inner] = field.path.split('.')
  const target = asked[field.in]
  if (inner === undefined) target[name] = value
  else target[name] = { ...(target[name] as SentFields), [inner]: value }
}

function requireFields(row: CommandRow, { body, query }: CommandInput, { fields, args }: CommandCall): void {
  const optional = new Set(args.filter(({ isOptional }) => isOptional).map(({ field }) => field))
  const missing = row.fields.find((field) => {
    const { in: place, path, required } = field
    if (!required || path.includes('.') || optional.has(field)) return false
    return (place === 'body' ? body : query)[path] === undefined
  })
  const option = fields.find(({ field }) => field === missing)?.option
  if (missing && option) throw usage(`Specify ${option.flags}${option.description && `: ${option.description}`}`)
  if (missing) throw usage(`Specify ${flagsOf(missing)}`)
  const [first] = fields
  if (row.method === 'PATCH' && first && Object.keys(body).length === 0) {
    throw usage(`Specify what to change, such as ${first.option.long}`)
  }
}

function questionOf({ confirm: question }: CommandSpec, asked: CommandInput): string {
  if (typeof question === 'function') return question(asked)
  return fill(question || 'Delete {}?', asked)
}

type Method = (...input: unknown[]) => Promise<unknown>

function methodOf(client: Client, { group, name }: CommandRow): Method {
  const methods = client[group as keyof Client] as unknown as Record<string, Method>
  return methods[name] as Method
}

function callOne(client: Client, row: CommandRow, asked: CommandInput): Promise<unknown> {
  return methodOf(client, row)(...inputOf(row, asked, asked.query), asked.options)
}

function inputOf(row: CommandRow, { params, body }: CommandInput, query: SentFields): unknown[] {
  return [
    ...row.params.map(({ name }) => params[name]),
    ...(row.hasBody ? [body] : []),
    ...(row.hasQuery ? [query] : []),
  ]
}

async function listItems(
  world: World,
  client: Client,
  row: CommandRow,
  spec: CommandSpec,
  asked: CommandInput,
): Promise<void> {
  const { options } = asked
  // A search has its limit in the body.
  const load = (limit: number) => {
    if (spec.load) return spec.load(client, asked, { limit }) as never
    const page = row.hasBody ? { ...asked, body: { ...asked.body, limit } } : asked
    return methodOf(client, row)(...inputOf(row, page, { ...asked.query, limit })) as never
  }
  const found = await gather<object>(world, { limit: options.limit ?? 0 }, load)
  const columns = typeof spec.columns === 'function' ? spec.columns(asked) : spec.columns
  await printTable(world, client, found, columns as Columns<object> | undefined, options)
}

async function printLines(world: World, lines: AsyncIterable<unknown>): Promise<void> {
  let count = 0
  for await (const line of lines) {
    print(world, JSON.stringify(line))
    count += 1
  }
  note(world, counted(count, 'line'), 'dim')
}

function tell(world: World, row: CommandRow, spec: CommandSpec, data: never, asked: CommandInput): void {
  const sentence = sentenceOf(row, spec, data, asked)
  if (sentence === undefined) return printRecord(world, data)
  success(world, sentence)
  spec.after?.(world, data, asked)
  // Printed alone, so that `KEY=$(moorage keys create …)` works.
  if (row.hasSecret) print(world, (data as { secret: string }).secret)
}

function sentenceOf(row: CommandRow, { done }: CommandSpec, data: never, asked: CommandInput): string | undefined {
  if (typeof done === 'function') return done(data, asked)
  if (done !== undefined) return fill(done, asked)
  const { ref } = asked
  const { id = ref, name } = data as { id?: string; name?: string }
  if (row.creates) return `Created ${id}${name === undefined ? '' : ` "${name}"`}`
  return { DELETE: `Deleted ${ref}`, PATCH: `Updated ${ref}`, PUT: `Set ${ref}` }[row.method]
}

function fill(text: string, { ref }: CommandInput): string {
  return text.replaceAll('{}', ref)
}

function aboutOf({ summary, hasSecret }: CommandRow): string {
  const about = summary.replace(/^Get /, 'Show ')
  return hasSecret ? `${about}. Prints only the secret to stdout, once` : about
}
