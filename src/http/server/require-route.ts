import { ApiError } from '../../errors.ts'
import type { Route } from '../dialects/dialect.ts'
import type { Arrived } from '../pipeline/request.ts'
import { CONSOLE_PATHS } from './console/console-paths.ts'
import { OPEN_PATHS } from './open-routes.ts'

/** Returns the route that the router found. Throws a 404, or a 405 that names the methods of the path. */
export function routeCheck(routes: readonly Route[], hasConsole: boolean): (arrived: Arrived) => Route {
  const documents = OPEN_PATHS.map((path) => ({ method: 'GET', path }))
  const paths = [...routes, ...documents, ...(hasConsole ? CONSOLE_PATHS : [])].map(({ method, path }) => ({
    method,
    pattern: new RegExp(
      `^${path
        .split(/\{\w+\}/)
        .map(RegExp.escape)
        .join('[^/]+')}$`,
    ),
  }))
  return ({ route, path }) => {
    if (route) return route
    const allowed = paths
      .filter(({ pattern }) => pattern.test(path))
      .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    if (allowed.length > 0) {
      const Allow = [...new Set(allowed)].join(', ')
      throw new ApiError('method_not_allowed', `This path takes ${Allow}`, { headers: { Allow } })
    }
    const hint = path.startsWith('/v1/') ? '' : ': every path starts with /v1'
    throw new ApiError('not_found', `No such path${hint}`)
  }
}
