import { type Operations, routes } from './api.ts'
import { errorOf, MoorageError } from './errors.ts'
import { type Page, type Pages, pages } from './pages.ts'
import type { Query, RequestOptions, Send } from './request.ts'

export type OperationId = keyof Operations

type Part<Id extends OperationId, Name extends string> =
  Operations[Id] extends Record<Name, infer Given> ? { [K in Name]: Given } : unknown

/** What an operation must and may be given. */
export type Input<Id extends OperationId> = Part<Id, 'params'> &
  Part<Id, 'body'> &
  (Operations[Id] extends { body?: infer Given } ? { body?: Given } : unknown) &
  (Operations[Id] extends { query: infer Q } ? { query?: Q | undefined } : unknown)

export type Body<Id extends OperationId> = Operations[Id] extends { body?: infer Given } ? NonNullable<Given> : never
export type ListQuery<Id extends OperationId> = Operations[Id] extends { query: infer Given } ? Given : never
export type Data<Id extends OperationId> = Operations[Id] extends { data: infer Given } ? Given : never
export type Item<Id extends OperationId> = Operations[Id] extends { item: infer Given } ? Given : never

type AnyInput = {
  params?: Record<string, string> | undefined
  query?: Query | undefined
  body?: Record<string, unknown> | undefined
}

/** Calls operations by their id, with the types that the service declares for them. */
export type Caller = {
  call<Id extends OperationId>(id: Id, input: Input<Id>, options?: RequestOptions): Promise<Data<Id>>
  list<Id extends OperationId>(id: Id, input: Input<Id>, options?: RequestOptions): Pages<Item<Id>>
}

export function caller(send: Send): Caller {
  const read = async (id: OperationId, { params, query, body }: AnyInput, options?: RequestOptions) => {
    const { method, path } = routes[id]
    return readJson(await send({ method, path: fill(path, params), query, body }, options))
  }
  return {
    async call(id, input, options) {
      const { data } = (await read(id, input as AnyInput, options)) as { data: Data<typeof id> }
      return data
    },
    list(id, input, options) {
      const { params, query, body } = input as AnyInput
      // A search says in its body what other lists say in their query.
      const load = (page: Query) =>
        body === undefined
          ? read(id, { params, query: { ...query, ...page } }, options)
          : read(id, { params, body: { ...body, ...page } }, options)
      return pages((page) => load(page) as Promise<Page<Item<typeof id>>>, body ?? query)
    },
  }
}

/** The path with its parameters in place. */
export function fill(path: string, params: Record<string, string> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    // An empty one would make the path of a list out of the path of one thing.
    if (!value) throw new TypeError(`${name} must not be empty`)
    return encodeURIComponent(value)
  })
}

export async function readJson(response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch (cause) {
    const { status, request_id } = errorOf(response.status, response.headers, '')
    throw new MoorageError('invalid_reply', `${response.url} did not answer in JSON: is this the right address?`, {
      status,
      request_id,
      cause,
    })
  }
}
