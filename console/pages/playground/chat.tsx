import { useEffect, useRef } from 'preact/hooks'
import type { Invocation } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { requestPath } from '../../lib/paths.ts'
import { may } from '../../lib/session-state.ts'
import { countText, durationText } from '../../lib/text/format.ts'
import { RunWaits } from '../../ui/approvals/run-waits.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { BudgetLink } from '../../ui/data/budget-link.tsx'
import { Status } from '../../ui/data/status.tsx'
import { AnswerShown, UnfitAnswer } from '../../ui/data/value-tree.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Rating } from '../../ui/feedback/rating.tsx'
import { Attachments } from '../../ui/files/attachments.tsx'
import { AnswerSwitch } from '../../ui/text/answer-text.tsx'
import {
  type Conversation,
  loadConversation,
  type OutgoingMessage,
  resumeWaiting,
  type ShownInvocation,
  stop,
  watchConversation,
} from './conversation.ts'

type Props = {
  conversation: Conversation
  selected?: string | undefined
  onSelect(invocation: ShownInvocation): void
  /** Undefined if the key may not invoke. */
  onAgain?: ((said: OutgoingMessage) => void) | undefined
  onEdit?: ((said: OutgoingMessage) => void) | undefined
}

/** The conversation, newest at the end. It follows the answer unless the reader has scrolled up. */
export function Chat({ conversation, selected, onSelect, onAgain, onEdit }: Props) {
  const list = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const invocations = conversation.invocations.value
  useEffect(() => watchConversation(conversation), [conversation])
  useEffect(() => {
    if (isAtEnd.current && list.current) list.current.scrollTop = list.current.scrollHeight
  }, [invocations])
  const onScroll = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = list.current ?? {}
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40
  }
  return (
    <div class="chat" ref={list} onScroll={onScroll} role="log" aria-label="Conversation" tabIndex={0}>
      <Failure error={conversation.error.value} retry={() => void loadConversation(conversation)} />
      {invocations.map((invocation) => (
        <article key={invocation.key} class={selected === invocation.key ? 'invocation selected' : 'invocation'}>
          <div class="said">
            <p>{invocation.message}</p>
            <Attachments files={invocation.attachments} />
          </div>
          <Answer invocation={invocation} conversation={conversation} />
          <footer>
            <Facts invocation={invocation} onSelect={onSelect} />
            {invocation.isRunning ? (
              <Button
                look="quiet"
                icon="stop"
                isBusy={invocation.isStopped}
                onClick={() => void stop(conversation, invocation.key)}
              >
                Stop
              </Button>
            ) : (
              <span class="tools">
                {onAgain && <Button look="quiet" icon="retry" label="Send again" onClick={() => onAgain(invocation)} />}
                {onEdit && (
                  <Button look="quiet" icon="edit" label="Edit in a new session" onClick={() => onEdit(invocation)} />
                )}
                <AnswerSwitch />
                <CopyButton text={invocation.response} label="Copy answer" />
              </span>
            )}
          </footer>
          {mayRate(invocation) && <Rating run={invocation.run} of={RATING} />}
        </article>
      ))}
    </div>
  )
}

/** The key that the API uses for feedback if none is given. */
const RATING = 'rating'

function mayRate(invocation: ShownInvocation): invocation is ShownInvocation & { run: Invocation } {
  const { run } = invocation
  return run !== undefined && run.finished_at !== null && run.erased_at === null && may('giveFeedback')
}

type AnswerProps = { invocation: ShownInvocation; conversation: Conversation }

function Answer({ invocation, conversation }: AnswerProps) {
  const { response, draft = '', isRunning, tools, error, run } = invocation
  const wasCancelled = run?.status === 'cancelled'
  // A run that waits for a decision has announced the call but not made it.
  const called = tools.filter(({ result, error: failure }) => isRunning || failure || result !== undefined)
  return (
    <div class="answer">
      {called.map((tool) => (
        <p key={tool.id} class="tool">
          <code>{tool.name}</code> {tool.error ? 'failed' : tool.result === undefined ? 'in progress …' : 'answered'}
        </p>
      ))}
      {!isRunning && run?.status === 'waiting' && (
        <RunWaits run={run} agentName={conversation.agent} onDecided={() => void resumeWaiting(conversation)} />
      )}
      <div aria-busy={isRunning}>
        <AnswerShown run={run} text={response || (isRunning ? draft : '')} />
        {isRunning && <i class="caret" />}
      </div>
      {error && !wasCancelled && (
        <p class="failure" role="alert">
          <span>
            <code>{error.code}</code> {error.message} <BudgetLink details={error.details} />
          </span>
        </p>
      )}
      <UnfitAnswer run={run} />
    </div>
  )
}

function Facts({ invocation, onSelect }: { invocation: ShownInvocation; onSelect(invocation: ShownInvocation): void }) {
  const { isRunning, run, request_id } = invocation
  if (!request_id) return <Status value={isRunning ? 'running' : 'failed'} isLive={isRunning} />
  return (
    <span class="facts">
      {run ? (
        <button type="button" class="link-like" onClick={() => onSelect(invocation)}>
          <Status value={run.status} />
          <span>{durationText(run.duration_ms)}</span>
          <span>{countText(run.tokens_used)} tokens</span>
        </button>
      ) : (
        <Status value="running" isLive />
      )}
      <a href={href(requestPath(request_id))}>{request_id}</a>
    </span>
  )
}
