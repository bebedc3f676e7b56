import { useState } from 'preact/hooks'
import type { Key, KeyWithSecret } from '../../../sdk/client.ts'
import { projects } from '../../lib/projects/chosen-project.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { holdPage } from '../../lib/session.ts'
import { may, session } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Id } from '../../ui/copy.tsx'
import { AgentLink } from '../../ui/data/agent-link.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Status } from '../../ui/data/status.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Who } from '../../ui/data/who.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { SecretOnce } from '../../ui/dialogs/secret-once.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { SecondFactor } from './second-factor.tsx'

/** How long the old secret stays valid after a rotation. */
const GRACE_SECONDS = 3_600

export function KeyPage({ params: { key: id = '' } }: { params: Params }) {
  const [asking, setAsking] = useState<'rotate' | 'revoke'>()
  const [rotated, setRotated] = useState<KeyWithSecret>()
  const key = useResource(`key ${id}`, (signal) => service.keys.get(id, { signal }))
  const found = key.data
  const isOwn = session.value?.actor_id === id
  const close = () => setAsking(undefined)
  return (
    <Page
      title={found?.name ?? 'Key'}
      crumbs={[{ label: 'Keys', to: '/keys' }]}
      about={found && <Status value={found.status} />}
      api={{ operation: 'getKey', method: 'keys.get', params: { key_id: id } }}
      actions={
        found?.status === 'active' && (
          <>
            {may('rotateKey') && (
              <Button icon="retry" onClick={() => setAsking('rotate')}>
                Rotate
              </Button>
            )}
            {may('revokeKey') && (
              <Button look="danger" onClick={() => setAsking('revoke')}>
                Revoke
              </Button>
            )}
          </>
        )
      }
    >
      <Failure error={key.error} retry={key.reload} />
      {found && <KeyFacts of={found} />}
      {found?.status === 'active' && may('getFactor') && <SecondFactor key_id={id} />}
      {asking === 'rotate' && (
        <Confirm
          title="Rotate key"
          action="Rotate key"
          onClose={close}
          work={async () => {
            // The reader's own session ends with the old secret, possibly before the reply arrives.
            const letGo = holdPage()
            try {
              setRotated(await service.keys.rotate(id, { grace_period_seconds: GRACE_SECONDS }))
            } finally {
              // By then, the dialog with the secret keeps the page.
              setTimeout(letGo)
            }
          }}
        >
          <p>The key gets a new secret. The old secret works for another hour, so you have time to replace it.</p>
          {isOwn && <p>You are signed in with this key. Store the new secret, then sign in again.</p>}
        </Confirm>
      )}
      {asking === 'revoke' && found && (
        <Confirm
          title="Revoke key"
          action="Revoke key"
          isDanger
          onClose={close}
          work={async () => {
            await service.keys.revoke(id)
            toast(`Key ${found.name} revoked`)
            key.reload()
          }}
        >
          <p>
            <b>{found.name}</b> stops working immediately, and its console sessions end. This can't be undone.
          </p>
          {isOwn && <p>You are signed in with this key.</p>}
        </Confirm>
      )}
      {rotated && (
        <SecretOnce
          title={`${rotated.name}: new secret`}
          secret={rotated.secret}
          variable="MOORAGE_API_KEY"
          onDone={() => {
            setRotated(undefined)
            key.reload()
          }}
        />
      )}
    </Page>
  )
}

function KeyFacts({ of: key }: { of: Key }) {
  const { agent_id, permissions, role, tier, hint, created_at, created_by, created_by_name } = key
  return (
    <Facts
      of={{
        Permissions: permissions.join(', '),
        Role: role ?? undefined,
        Person: key.person_id ? <Who id={key.person_id} name={key.person_name} /> : undefined,
        Project: projectText(key.project_id),
        Agent: <AgentLink id={agent_id} />,
        Tier: tier,
        Secret: <code>{hint}</code>,
        'Last used': <Ago time={key.last_used_at} />,
        Expires: <Ago time={key.expires_at} />,
        'Old secret expires': key.previous_secret_expires_at ? (
          <Ago time={key.previous_secret_expires_at} />
        ) : undefined,
        Revoked: key.revoked_at ? <Ago time={key.revoked_at} /> : undefined,
        Created: (
          <>
            <Ago time={created_at} /> <span class="soft">by</span> <Who id={created_by} name={created_by_name} />
          </>
        ),
        ID: <Id id={key.id} />,
      }}
    />
  )
}

/** The project isn't mentioned if there is only one. */
function projectText(project_id: string | null): string | undefined {
  if (projects.value.length === 0) return undefined
  return project_id === null ? 'all projects' : projects.value.find(({ id }) => id === project_id)?.name
}
