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
import { SignInForm } from './sign-in-form.tsx'

type Props = { approval: Approval; agentName: string; onDecided(): void }

/** One approval, pending or decided. */
export function ApprovalCard({ approval, agentName, onDecided }: Props) {
  const { kind, tool, status, created_at, expires_at, agent_id, request_id, user_id } = approval
  const isOwn = approval.started_by === session.value?.actor_id
  const Form = kind === 'question' ? AnswerForm : DecisionForm
  return (
    <article class="approval" aria-label={titleOf(approval)}>
      <header>
        <h2>{kind === 'question' ? 'Question' : kind === 'connection' ? titleOf(approval) : <code>{tool}</code>}</h2>
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
      {kind === 'question' ? (
        <p class="whole">{String(approval.arguments['question'] ?? '')}</p>
      ) : (
        (kind !== 'connection' || Object.keys(approval.arguments).length > 0) && (
          <Snippet label="arguments" text={yamlText(approval.changed_arguments ?? approval.arguments)} />
        )
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
      {status === 'pending' && kind === 'connection' && <SignInForm approval={approval} onDecided={onDecided} />}
      {approval.not_for_you && kind !== 'connection' && <p class="notice">{approval.not_for_you}</p>}
      {status === 'pending' && kind !== 'connection' && may('decideApproval') && (
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

function titleOf({ kind, tool, connection }: Approval): string {
  if (kind === 'connection') return `Sign-in to ${connection?.name ?? tool}`
  return kind === 'question' ? 'Question' : `Call to ${tool}`
}
