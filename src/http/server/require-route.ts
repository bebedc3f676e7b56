import { ApiError } from '../../errors.ts'
import type { Route } from '../dialects/dialect.ts'
import type { Arrived } from '../pipeline/request.ts'
import type { Endpoint } from './endpoint.ts'
import type { Router } from './router.ts'

/** Returns the route that the router found. Throws a 404, or a 405 that names the methods of the path. */
export function requireRoute(endpoints: Router<Endpoint>, { route, path }: Arrived): Route {
  if (route) return route
  const methods = endpoints.methods(path, ({ forBrowsers }) => !forBrowsers)
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  if (allowed.length > 0) {
    const Allow = allowed.join(', ')
    throw new ApiError('method_not_allowed', `This path takes ${Allow}`, { headers: { Allow } })
  }
  const hint = path.startsWith('/v1/') ? '' : ': every path starts with /v1'
  throw new ApiError('not_found', `No such path${hint}`)
}
