import type { Command } from 'commander'
import type { Operations } from '../../../sdk/api.ts'
import type { OperationId } from '../../../sdk/call.ts'
import type { Client, Pages } from '../../../sdk/client.ts'
import type { Common } from '../connect/connect.ts'
import type { Limit } from '../terminal/gather.ts'
import type { World } from '../world.ts'
import type { OwnOption } from './field-option.ts'
import type { Columns } from './item-table.ts'

type Of<Id extends OperationId, Part extends string> = Operations[Id] extends Record<Part, infer Given> ? Given : never
type Data<Id extends OperationId> = Of<Id, 'data'>
export type SentFields = Record<string, unknown>

/** The input of a command, as it will be sent. */
export type CommandInput = {
  params: Record<string, string>
  body: SentFields
  query: SentFields
  options: CommandOptions
  /** The last argument of the path, as it was given. */
  ref: string
  /** The words after the arguments, for commands that define their own arguments. */
  words: string[]
}

export type CommandOptions = Common & Partial<Limit> & SentFields & { yes?: boolean }

/** What is defined by hand for a command that calls one operation. All of it is optional. */
export type CommandSpec<Id extends OperationId = OperationId> = {
  name?: string
  alias?: string
  /** Whether the group runs this command if none is named. */
  isDefault?: boolean
  about?: string
  /** Whether it can work on this machine's data. */
  local?: boolean
  /** The names and descriptions of the arguments for path parameters. If `false`, `read` finds the value. */
  params?: Readonly<Record<string, string | false>>
  /** Fields that are arguments instead of options: `name`, `[name]` if it is optional, `name...` for several words. */
  args?: readonly string[]
  /** Whether the last of `args` is read from stdin if it isn't given. */
  stdin?: boolean
  /** Changes to the options of fields, or their descriptions as arguments. With `only`, others have no options. */
  options?: Readonly<Record<string, OwnOption>>
  only?: boolean
  /** Adds options that don't belong to a field. */
  more?: (command: Command) => Command
  /** What is sent unless an option says otherwise. */
  query?: Readonly<Record<string, string>>
  limit?: number
  /** Reads what isn't on the command line, before any request. */
  read?: (asked: CommandInput, world: World) => void | Promise<void>
  /** Finds what the request needs, by asking the service. */
  find?: (asked: CommandInput, client: Client) => void | Promise<void>
  /** The question to confirm. `{}` is replaced with the last argument of the path. */
  confirm?: string | false | ((asked: CommandInput) => string)
  waiting?: string
  call?: (client: Client, asked: CommandInput) => Promise<Data<Id>>
  /** Loads a single item instead of the list. */
  single?: (client: Client, asked: CommandInput) => Promise<object> | undefined
  /** Loads a page of the list, if that takes more than the operation. */
  load?: (client: Client, asked: CommandInput, page: { limit: number }) => Pages<Of<Id, 'item'>>
  columns?: Columns<Of<Id, 'item'>> | ((asked: CommandInput) => Columns<Of<Id, 'item'>>)
  done?: string | ((data: Data<Id>, asked: CommandInput) => string)
  /** Prints the data for people. */
  show?: (world: World, data: Data<Id>, asked: CommandInput, client: Client) => void | Promise<void>
  /** Prints more after `done`. */
  after?: (world: World, data: Data<Id>, asked: CommandInput) => void
  /** What --json prints instead of the data. */
  json?: (data: Data<Id>, asked: CommandInput, world: World) => unknown
  /** Throws if the reply means that the command failed. */
  verify?: (data: Data<Id>, asked: CommandInput) => void
}

/**
 * The specs by operation: several if it has several commands, `false` if its command is written by hand or belongs to
 * another group.
 */
export type CommandSpecs = { readonly [Id in OperationId]?: CommandSpec<Id> | readonly CommandSpec<Id>[] | false }
