import type { Invocation } from '../../../sdk/client.ts'
import { here, param } from '../../lib/location.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { requestPath } from '../../lib/paths.ts'

const LIMIT = 50

/** The list's filters, which are in its URL. The page of a request keeps them to find its neighbours. */
export function activityQuery() {
  const [agent_id, status, door, user_id, session_id] = ['agent', 'status', 'door', 'user', 'session'].map(param)
  return {
    ...pageQuery(LIMIT, '-created_at'),
    ...(agent_id && { agent_id }),
    ...(status && { status: status as Invocation['status'] }),
    ...(door && { door: door as Invocation['door'] }),
    ...(user_id && { user_id }),
    ...(session_id && { session_id }),
  }
}

/** The URL of a request's page, with the filters by which it was found. */
export function requestInList(request_id: string, offset?: number): string {
  const query = new URLSearchParams(here.value.query)
  if (offset) query.set('offset', String(offset))
  else if (offset === 0) query.delete('offset')
  const text = query.toString()
  return requestPath(request_id) + (text && `?${text}`)
}
