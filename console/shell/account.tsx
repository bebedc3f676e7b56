import { useId } from 'preact/hooks'
import { heldPermissions } from '../lib/people/permissions.ts'
import { chosenProject } from '../lib/projects/chosen-project.ts'
import { signOut } from '../lib/session.ts'
import { type Session, session } from '../lib/session-state.ts'
import { Button } from '../ui/button.tsx'
import { Id } from '../ui/copy.tsx'
import { Facts } from '../ui/data/facts.tsx'
import { Icon } from '../ui/icon.tsx'
import { nameOf } from './name-of.ts'

/** Shows who is signed in. A click shows their role and permissions here. */
export function Account() {
  const id = useId()
  const now = session.value
  if (!now) return null
  const { person, key } = now
  return (
    <>
      <button type="button" class="account" popovertarget={id} title="Your account and permissions">
        <Icon name="person" />
        <span>{nameOf(now)}</span>
      </button>
      <div id={id} popover="auto" class="popover account-menu">
        <b>{nameOf(now)}</b>
        <Facts
          of={{
            Email: person?.email ?? undefined,
            Role: person ? roleText(now) : undefined,
            Key: key ? <code>{key.hint}</code> : undefined,
            ID: <Id id={now.actor_id} />,
          }}
        />
        <details>
          <summary>Permissions in this project</summary>
          <ul>
            {heldPermissions().map(({ value, about }) => (
              <li key={value}>
                <code>{value}</code> <span class="soft">{about}</span>
              </li>
            ))}
          </ul>
        </details>
        <Button icon="out" onClick={() => void signOut()}>
          Sign out
        </Button>
      </div>
    </>
  )
}

/** `developer in shop`. If there is only one project, it isn't mentioned. */
function roleText({ person, reach }: Session): string {
  const project = chosenProject.value && (reach === 'service' ? 'all projects' : chosenProject.value.name)
  const where = project ? ` in ${project}` : reach === 'service' ? ' of the service' : ''
  return `${person?.role ?? ''}${where}`
}
