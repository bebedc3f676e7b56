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

/** What a command was called with, as it is sent. */
export type CommandInput = {
  params: Record<string, string>
  body: SentFields
  query: SentFields
  options: CommandOptions
  /** What the last argument of the path was called by. */
  ref: string
  /** The words after the arguments, for commands with arguments of their own. */
  words: string[]
}

export type CommandOptions = Common & Partial<Limit> & SentFields & { yes?: boolean }

/** What is said by hand of a command that calls one operation. All of it may be left out. */
export type CommandSpec<Id extends OperationId = OperationId> = {
  name?: string
  alias?: string
  /** It is what the group does when no command is named. */
  isDefault?: boolean
  about?: string
  /** It can work on the data of this machine. */
  local?: boolean
  /** What the arguments for parameters of the path are called, and a description. `false`: `read` finds the value. */
  params?: Readonly<Record<string, string | false>>
  /** SentFields that are arguments instead of options: `name`, `[name]` if it need not be given, `name...` for many words. */
  args?: readonly string[]
  /** The last of `args` is read from stdin when it is not given. */
  stdin?: boolean
  /** By field. With `only`, the others have no options. */
  options?: Readonly<Record<string, OwnOption>>
  only?: boolean
  /** Options of the command's own. */
  more?: (command: Command) => Command
  /** What is sent if no option says otherwise. */
  query?: Readonly<Record<string, string>>
  limit?: number
  /** Reads what is not on the command line, before the service is asked. */
  read?: (asked: CommandInput, world: World) => void | Promise<void>
  /** Finds what the service needs to know. */
  find?: (asked: CommandInput, client: Client) => void | Promise<void>
  /** The question before something is done; `{}` is what the last argument of the path names. */
  confirm?: string | false | ((asked: CommandInput) => string)
  waiting?: string
  call?: (client: Client, asked: CommandInput) => Promise<Data<Id>>
  /** Loads one item instead of the list. */
  single?: (client: Client, asked: CommandInput) => Promise<object> | undefined
  /** Loads a page of the list, if not the operation alone does. */
  load?: (client: Client, asked: CommandInput, page: { limit: number }) => Pages<Of<Id, 'item'>>
  columns?: Columns<Of<Id, 'item'>> | ((asked: CommandInput) => Columns<Of<Id, 'item'>>)
  done?: string | ((data: Data<Id>, asked: CommandInput) => string)
  /** Prints the data for people. */
  show?: (world: World, data: Data<Id>, asked: CommandInput, client: Client) => void | Promise<void>
  /** Says more after `done`. */
  after?: (world: World, data: Data<Id>, asked: CommandInput) => void
  /** What --json prints instead of the data. */
  json?: (data: Data<Id>, asked: CommandInput, world: World) => unknown
  /** Throws if the reply means that the command failed. */
  verify?: (data: Data<Id>, asked: CommandInput) => void
}

/** By the operation. `false`: it has a command that is written by hand, or one of another group. */
export type CommandSpecs = { readonly [Id in OperationId]?: CommandSpec<Id> | false }
