import { href } from '../../lib/base.ts'
import { may } from '../../lib/session-state.ts'

/** Shows the name of a key, with a link to its page. Tokens, and keys that are gone, are shown by their ids. */
export function Who({ id, name }: { id: string; name: string | null | undefined }) {
  if (!name) return <code class="soft">{id}</code>
  if (!may('getKey')) return <span title={id}>{name}</span>
  return (
    <a href={href(`/keys/${id}`)} title={id}>
      {name}
    </a>
  )
}
