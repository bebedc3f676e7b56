import type { Approval } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { agentPath, requestPath } from '../../lib/paths.ts'
import { may, session } from '../../lib/session-state.ts'
import { yamlText } from '../../lib/yaml/yaml-text.ts'
import { Snippet } from '../copy.tsx'
import { Status } from '../data/status.tsx'
import { Ago } from '../data/time.tsx'
import { Who } from '../data/who.tsx'
import { AnswerForm } from './answer-form.tsx'
import { DecisionForm } from './decision-form.tsx'

type Props = { approval: Approval; agentName: string; onDecided(): void }

/** One approval, pending or decided. */
export function ApprovalCard({ approval, agentName, onDecided }: Props) {
  const { kind, tool, status, created_at, expires_at, agent_id, request_id, user_id } = approval
  const isOwn = approval.started_by === session.value?.actor_id
  const Form = kind === 'question' ? AnswerForm : DecisionForm
  return (
    <article class="approval" aria-label={titleOf(approval)}>
      <header>
        <h2>{kind === 'question' ? 'Question' : <code>{tool}</code>}</h2>
        <Status value={status} />
        <span class="soft">
          <Ago time={created_at} />
          {status === 'pending' && (
            <>
              , expires <Ago time={expires_at} />
            </>
          )}
        </span>
      </header>
      {kind === 'retry' && (
        <p class="hint">
          The service stopped during this call, so the call might have taken effect. Call the tool again?
        </p>
      )}
      {kind === 'connection' && <SignIn approval={approval} />}
      {kind === 'question' ? (
        <p class="whole">{String(approval.arguments['question'] ?? '')}</p>
      ) : (
        <Snippet label="arguments" text={yamlText(approval.changed_arguments ?? approval.arguments)} />
      )}
      <p class="facts soft">
        <a href={href(agentPath(agent_id))}>{agentName}</a>
        <a href={href(requestPath(request_id))}>run</a>
        {user_id && <span>for {user_id}</span>}
        <span>
          started by{' '}
          {isOwn ? (
            session.value?.person ? (
              'you'
            ) : (
              'your key'
            )
          ) : (
            <Who id={approval.started_by} name={approval.started_by_name} />
          )}
        </span>
      </p>
      {approval.not_for_you && <p class="notice">{approval.not_for_you}</p>}
      {status === 'pending' && may('decideApproval') && (
        <fieldset disabled={approval.not_for_you !== null}>
          <Form approval={approval} onDecided={onDecided} />
        </fieldset>
      )}
      {approval.decided_at && (
        <p class="soft">
          {approval.decided_by ? <Who id={approval.decided_by} name={approval.decided_by_name} /> : 'no person'} ·{' '}
          <Ago time={approval.decided_at} />
          {approval.note && ` · ${approval.note}`}
          {approval.answer && ` · ${approval.answer}`}
        </p>
      )}
    </article>
  )
}

/** The user signs in, and the application confirms it. Deciding here only checks again, or tells the model that it won't happen. */
function SignIn({ approval: { connection, status } }: Pick<Props, 'approval'>) {
  if (status !== 'pending' || !connection) return null
  return (
    <>
      <p class="hint">
        The user has to sign in to {connection.name}. The run continues when your application has confirmed the sign-in.
      </p>
      {connection.url && <Snippet label="sign-in link" text={connection.url} />}
    </>
  )
}

function titleOf({ kind, tool }: Approval): string {
  if (kind === 'connection') return `Sign-in for ${tool}`
  return kind === 'question' ? 'Question' : `Call to ${tool}`
}
