import type { ServerResponse } from 'node:http'
import type { Route } from '../dialects/dialect.ts'
import type { ArrivedRequest } from '../pipeline/request.ts'

/** What answers a method and a path: an operation's route, or a page of the server itself. */
export type Endpoint = {
  route?: Route
  /** Whether it answers without a key. */
  open?: boolean
  /** Whether it answers no matter what the settings say, because health checks must always work. */
  probe?: boolean
  /** Whether it answers only clients that request a page, as browsers do. For others, the path doesn't exist. */
  forBrowsers?: boolean
  /** Answers if the path isn't an operation. */
  page?(arrived: ArrivedRequest, response: ServerResponse): Promise<void>
}
