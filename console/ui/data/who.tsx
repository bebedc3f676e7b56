import type { OperationId } from '../../../sdk/call.ts'
import { href } from '../../lib/base.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may, session } from '../../lib/session-state.ts'

/** The kinds of actors that have their own page, by ID prefix. A person's role has none. */
const PAGES: Record<string, { folder: string; needs: OperationId }> = {
  key: { folder: 'keys', needs: 'getKey' },
  prs: { folder: 'people', needs: 'getPerson' },
}

/** Shows who is meant if the service returns only an ID: the reader, or a key that they may see. */
export function WhoIs({ id }: { id: string }) {
  const { actor_id, key, person } = session.value ?? {}
  const own = id === actor_id ? (key ?? person)?.name : undefined
  const isAsked = !own && id.startsWith('key_') && may('getKey')
  const found = useResource(isAsked ? `key ${id}` : undefined, (signal) => service.keys.get(id, { signal }))
  return <Who id={id} name={own ?? found.data?.name} />
}

/** The name of a key or a person, with a link to their page. Tokens and deleted keys are shown by their ID. */
export function Who({ id, name }: { id: string; name: string | null | undefined }) {
  if (!name) return <code class="soft">{id}</code>
  const page = PAGES[id.slice(0, 3)]
  if (!page || !may(page.needs)) return <span title={id}>{name}</span>
  return (
    <a href={href(`/${page.folder}/${id}`)} title={id}>
      {name}
    </a>
  )
}
