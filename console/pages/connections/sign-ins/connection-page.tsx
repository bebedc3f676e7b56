import { useState } from 'preact/hooks'
import type { Connection, ConnectionTest } from '../../../../sdk/client.ts'
import { go } from '../../../lib/location.ts'
import { useAction, useResource } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { may } from '../../../lib/session-state.ts'
import { toast } from '../../../lib/toasts.ts'
import type { Params } from '../../../routes.ts'
import { Button } from '../../../ui/button.tsx'
import { Snippet } from '../../../ui/copy.tsx'
import { Facts } from '../../../ui/data/facts.tsx'
import { Status } from '../../../ui/data/status.tsx'
import { Ago } from '../../../ui/data/time.tsx'
import { Confirm } from '../../../ui/dialogs/confirm.tsx'
import { Failure } from '../../../ui/failure.tsx'
import { Page } from '../../../ui/page.tsx'
import { ConnectionDialog } from './connection-dialog.tsx'
import { placeOf, WHO } from './connection-values.ts'
import { GrantsList } from './grants-list.tsx'
import { SignInDialog } from './sign-in-dialog.tsx'

const LIST = '/connections?view=sign-ins'

/** One connection: what it leads to, a test, and who has signed in. */
export function ConnectionPage({ params: { connection: name = '' } }: { params: Params }) {
  const [asking, setAsking] = useState<'edit' | 'sign in' | 'delete'>()
  const [tested, setTested] = useState<ConnectionTest>()
  // Changes when someone has signed in here, so that the list is loaded again.
  const [signIns, setSignIns] = useState(0)
  const connection = useResource(`connection ${name}`, (signal) => service.connections.get(name, { signal }))
  const test = useAction(async () => {
    setTested(undefined)
    setTested(await service.connections.test(name))
  })
  const found = connection.data
  const close = () => setAsking(undefined)
  return (
    <Page
      title={name}
      crumbs={[{ label: 'Sign-ins', to: LIST }]}
      api={{ operation: 'getConnection', method: 'connections.get', params: { name } }}
      actions={
        found && (
          <>
            {may('testConnection') && (
              <Button icon="play" doing={test}>
                Test
              </Button>
            )}
            {may('createConnectionLink') && (
              <Button icon="person" onClick={() => setAsking('sign in')}>
                {found.as === 'service' ? 'Sign in' : 'Sign a user in'}
              </Button>
            )}
            {may('setConnection') && (
              <Button icon="edit" onClick={() => setAsking('edit')}>
                Edit
              </Button>
            )}
            {may('deleteConnection') && (
              <Button look="danger" onClick={() => setAsking('delete')}>
                Delete
              </Button>
            )}
          </>
        )
      }
    >
      <Failure error={connection.error ?? test.error} retry={connection.error && connection.reload} />
      <div class="stack">
        {tested && <TestResult tested={tested} />}
        {found && <ConnectionFacts connection={found} />}
      </div>
      {found && <GrantsList key={signIns} connection={found} />}
      {asking === 'edit' && found && (
        <ConnectionDialog
          connection={found}
          onClose={close}
          onSaved={(changed) => {
            connection.replace(changed)
            setSignIns(signIns + 1)
          }}
        />
      )}
      {asking === 'sign in' && found && (
        <SignInDialog connection={found} onClose={close} onSignedIn={() => setSignIns(signIns + 1)} />
      )}
      {asking === 'delete' && found && (
        <Confirm
          title="Delete connection"
          action="Delete connection"
          isDanger
          onClose={close}
          work={async () => {
            await service.connections.delete(name)
            toast('Connection deleted')
            go(LIST)
          }}
        >
          <p>
            This ends all of the connection's sign-ins, here and at the provider. Tools that use <code>{name}</code>{' '}
            will fail from their next call.
          </p>
        </Confirm>
      )}
    </Page>
  )
}

const CLIENTS: Record<NonNullable<ConnectionTest['client']>, string> = {
  given: 'the client ID that is set here',
  metadata_document: 'the provider reads a document at this URL',
  registered: 'the service has registered itself',
}

/** What the test found. */
function TestResult({ tested }: { tested: ConnectionTest }) {
  const { ok, error, warnings, issuer, authorize_url, client, client_id, scopes, can_revoke } = tested
  return (
    <section class="notice stack" role="status" aria-label="Test result">
      <p>
        <Status value={ok ? 'passed' : 'failed'} /> {error ?? 'Users can sign in.'}
      </p>
      {warnings.map((warning) => (
        <p key={warning}>{warning}</p>
      ))}
      {authorize_url && (
        <Facts
          of={{
            Provider: issuer ?? undefined,
            'Users sign in at': authorize_url,
            Client: client && `${client_id} (${CLIENTS[client]})`,
            Scopes: scopes.length > 0 ? scopes.join(' ') : 'none',
            'Ends sign-ins at the provider': can_revoke ? 'yes' : 'no, only here',
          }}
        />
      )}
    </section>
  )
}

function ConnectionFacts({ connection }: { connection: Connection }) {
  const { kind, as, client_id, has_client_secret, scopes, hosts, return_origins, redirect_uri, updated_at } = connection
  const isMcp = kind === 'mcp'
  return (
    <>
      {redirect_uri === null ? (
        <p class="notice">
          Users can't sign in yet, because <code>server.publicUrl</code> is not set in <code>moorage.yaml</code>.
        </p>
      ) : (
        client_id !== null && (
          <>
            <p class="hint">Enter this redirect URI at the provider:</p>
            <Snippet label="redirect URI" text={redirect_uri} />
          </>
        )
      )}
      <Facts
        of={{
          [isMcp ? 'MCP server' : 'Provider']: placeOf(connection),
          'Who signs in': WHO[as],
          'Client ID': client_id ?? undefined,
          'Client secret': client_id === null ? undefined : has_client_secret ? 'set' : 'none',
          Scopes: scopes.length > 0 ? scopes.join(' ') : isMcp ? 'chosen by the server' : 'none',
          'Tokens sent only to': hosts.join(', '),
          'Your application': return_origins.length > 0 ? return_origins.join(', ') : undefined,
          Changed: <Ago time={updated_at} />,
        }}
      />
      <p class="hint">{isMcp ? 'In an MCP server tool:' : 'In a header of an HTTP tool:'}</p>
      <Snippet label="use in a tool" text={useOf(connection)} />
    </>
  )
}

function useOf({ kind, name, url }: Connection): string {
  if (kind === 'mcp') return JSON.stringify({ type: 'mcp', url, connection: name })
  return `Authorization: Bearer {{connection.${name}}}`
}
