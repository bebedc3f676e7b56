import type { Approval } from '../../../sdk/client.ts'
import { tellDecision } from '../../lib/approvals/tell-decision.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../button.tsx'
import { Snippet } from '../copy.tsx'
import { Failure } from '../failure.tsx'

type Props = { approval: Approval; onDecided(): void }

/** The run waits until its user has signed in, and the user's application has confirmed it. */
export function SignInForm({ approval, onDecided }: Props) {
  const { agent_id, request_id, call_id, connection, tool, user_id } = approval
  const name = connection?.name ?? ''
  const isKnown = may('getConnection') && name !== ''
  const known = useResource(isKnown ? `connection ${name}` : undefined, (signal) =>
    service.connections.get(name, { signal }),
  )
  // Only who may see the connection gets a link for a sign-in of the project.
  const isProject = connection?.url === null || known.data?.as === 'service'
  const who = isProject || !user_id ? 'the project' : user_id
  const confirm = useAction(async () => {
    if (!connection?.link_id) return
    await service.connections.confirmLink(name, connection.link_id, isProject || !user_id ? {} : { user_id })
    await tellDecision(approval, 'Sign-in confirmed')
    onDecided()
  })
  const refuse = useAction(async () => {
    await service.approvals.decide(agent_id, request_id, call_id, { decision: 'reject' })
    await tellDecision(approval, 'The agent continues without the sign-in')
    onDecided()
  })
  const isBusy = confirm.isBusy || refuse.isBusy
  const canConfirm =
    may('confirmConnectionLink') && Boolean(connection?.link_id) && (!isKnown || known.data !== undefined)
  return (
    <div class="stack">
      {connection?.url ? (
        <>
          <p>
            The agent can call <code>{tool}</code> when{' '}
            {isProject ? 'you have signed the project in with this link:' : `${who} has signed in with this link:`}
          </p>
          <Snippet label="sign-in link" text={connection.url} />
          <p class="hint">
            The run continues when the sign-in is confirmed. {isProject || 'Your application does that. '}
            {canConfirm && `Confirm it here only if you know that it was ${isProject ? 'you' : who}.`}
          </p>
        </>
      ) : (
        <p class="hint">
          The agent can call <code>{tool}</code> when the project has signed in. Only people who manage the project can
          do that, and <code>server.publicUrl</code> must be set.
        </p>
      )}
      <Failure error={confirm.error ?? refuse.error} />
      <div class="actions">
        {may('decideApproval') && (
          <Button look="danger" isBusy={isBusy} onClick={() => void refuse.run()}>
            Continue without
          </Button>
        )}
        {canConfirm && (
          <Button look="main" isBusy={isBusy} onClick={() => void confirm.run()}>
            Confirm sign-in
          </Button>
        )}
      </div>
    </div>
  )
}
