import { type Operations, routes } from './api.ts'
import { readLines } from './lines.ts'
import { type Pages, pages } from './pages.ts'
import { readData, readPage } from './reply.ts'
import type { Query, RequestOptions, Sender } from './request.ts'

export type OperationId = keyof Operations

type Part<Id extends OperationId, Name extends string> =
  Operations[Id] extends Record<Name, infer Given> ? { [K in Name]: Given } : unknown

/** The input that an operation requires and accepts. */
export type Input<Id extends OperationId> = Part<Id, 'params'> &
  Part<Id, 'body'> &
  (Operations[Id] extends { body?: infer Given } ? { body?: Given } : unknown) &
  (Operations[Id] extends { query: infer Q } ? { query?: Q | undefined } : unknown)

export type Body<Id extends OperationId> = Operations[Id] extends { body?: infer Given } ? NonNullable<Given> : never
export type ListQuery<Id extends OperationId> = Operations[Id] extends { query: infer Given } ? Given : never
export type Data<Id extends OperationId> = Operations[Id] extends { data: infer Given } ? Given : never
export type Item<Id extends OperationId> = Operations[Id] extends { item: infer Given } ? Given : never

export type Line<Id extends OperationId> = Operations[Id] extends { line: infer Given } ? Given : never

type AnyInput = {
  params?: Record<string, string> | undefined
  query?: Query | undefined
  body?: Record<string, unknown> | undefined
}

/** Calls operations by their ID, with the types that the service declares for them. */
export type Caller = {
  call<Id extends OperationId>(id: Id, input: Input<Id>, options?: RequestOptions): Promise<Data<Id>>
  list<Id extends OperationId>(id: Id, input: Input<Id>, options?: RequestOptions): Pages<Item<Id>>
  lines<Id extends OperationId>(id: Id, input: Input<Id>, options?: RequestOptions): AsyncIterable<Line<Id>>
}

export function caller({ send, open }: Sender, signal?: AbortSignal): Caller {
  const ask = (id: OperationId, { params, query, body }: AnyInput, options?: RequestOptions) => {
    const { method, path } = routes[id]
    return send({ method, path: fill(path, params), query, body, deleted: deletedData(id, params) }, options)
  }
  return {
    async call(id, input, options) {
      return readData<Data<typeof id>>(await ask(id, input as AnyInput, options))
    },
    list(id, input, options) {
      const { params, query, body } = input as AnyInput
      // A key belongs to one request, and every further page is a separate request.
      let given = options
      const load = async (page: Query) => {
        const once = given
        given = { ...options, idempotencyKey: undefined }
        // A search has its paging parameters in the body, and other lists in the query.
        const asked =
          body === undefined ? { params, query: { ...query, ...page } } : { params, body: { ...body, ...page } }
        return readPage<Item<typeof id>>(await ask(id, asked, once))
      }
      return pages(load, body ?? query)
    },
    async *lines(id, input, options) {
      const { params, query } = input as AnyInput
      const { method, path } = routes[id]
      const headers = { Accept: 'application/x-ndjson' }
      const reply = await open({ method, path: fill(path, params), query, headers }, options)
      yield* readLines<Line<typeof id>>(reply, options?.signal ?? signal)
    },
  }
}

/** The operations that delete the object in their path, and the field of their data that identifies it. */
export const DELETES: Partial<Record<OperationId, 'id' | 'name'>> = {
  deleteAgent: 'id',
  deleteBudget: 'id',
  deleteCallback: 'id',
  deleteFile: 'id',
  deleteProvider: 'name',
  deleteSchedule: 'id',
  deleteTrigger: 'id',
  deleteSecret: 'name',
  deleteWebhook: 'id',
}

function deletedData(id: OperationId, params: Record<string, string> = {}): Record<string, unknown> | undefined {
  const field = DELETES[id]
  const last = /\{(\w+)\}$/.exec(routes[id].path)?.[1]
  return field && last ? { [field]: params[last], deleted: true } : undefined
}

/** Fills in the path parameters. */
export function fill(path: string, params: Record<string, string> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    // With an empty value, the path of an item would become the path of the list.
    if (!value) throw new TypeError(`${name} must not be empty`)
    // URL parsers remove these segments no matter how they are escaped, so the path would mean the parent.
    if (value === '.' || value === '..') throw new TypeError(`${name} must not be ${value}`)
    return encodeURIComponent(value)
  })
}
