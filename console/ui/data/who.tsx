import { href } from '../../lib/base.ts'
import { may } from '../../lib/session-state.ts'

/** A key by its name, which leads to its page; what is no key, or gone, by its id. */
export function Who({ id, name }: { id: string; name: string | null | undefined }) {
  if (!name) return <code class="soft">{id}</code>
  if (!may('getKey')) return <span title={id}>{name}</span>
  return (
    <a href={href(`/keys/${id}`)} title={id}>
      {name}
    </a>
  )
}
