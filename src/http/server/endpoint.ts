import type { ServerResponse } from 'node:http'
import type { Route } from '../dialects/dialect.ts'
import type { ArrivedRequest } from '../pipeline/request.ts'

/** What answers under a method and a path: the operation of a route, or a page of the server itself. */
export type Endpoint = {
  route?: Route
  /** Answers without a key. */
  open?: boolean
  /** Answers whatever the settings say, because a health check must always reach it. */
  probe?: boolean
  /** Answers only those who ask for a page, as browsers do. For others there is nothing on this path. */
  forBrowsers?: boolean
  /** Answers a path that is not an operation. */
  page?(arrived: ArrivedRequest, response: ServerResponse): Promise<void>
}
