import { useEffect, useRef } from 'preact/hooks'
import { href } from '../../lib/base.ts'
import { requestPath } from '../../lib/paths.ts'
import { countText, durationText } from '../../lib/text/format.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Status } from '../../ui/data/status.tsx'
import { Failure } from '../../ui/failure.tsx'
import { AnswerSwitch, AnswerText } from '../../ui/text/answer-text.tsx'
import { type Conversation, type Exchange, loadEarlier, stop } from './conversation.ts'

type Props = {
  conversation: Conversation
  selected?: string | undefined
  onSelect(exchange: Exchange): void
  /** Undefined where the key may not invoke. */
  onAgain?: ((message: string) => void) | undefined
  onEdit?: ((message: string) => void) | undefined
}

/** What was said, with the newest at the end. It follows the answer unless the reader has scrolled up. */
export function Chat({ conversation, selected, onSelect, onAgain, onEdit }: Props) {
  const list = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const exchanges = conversation.exchanges.value
  useEffect(() => {
    if (isAtEnd.current && list.current) list.current.scrollTop = list.current.scrollHeight
  }, [exchanges])
  const onScroll = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = list.current ?? {}
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40
  }
  return (
    <div class="chat" ref={list} onScroll={onScroll} role="log" aria-label="Conversation" tabIndex={0}>
      <Failure error={conversation.error.value} retry={() => void loadEarlier(conversation)} />
      {exchanges.map((exchange) => (
        <article key={exchange.key} class={selected === exchange.key ? 'exchange selected' : 'exchange'}>
          <div class="said">
            <p>{exchange.message}</p>
          </div>
          <Answer exchange={exchange} />
          <footer>
            <Facts exchange={exchange} onSelect={onSelect} />
            {exchange.isRunning ? (
              <Button look="quiet" icon="stop" onClick={() => void stop(conversation, exchange)}>
                Stop
              </Button>
            ) : (
              <span class="tools">
                {onAgain && (
                  <Button look="quiet" icon="retry" label="Send again" onClick={() => onAgain(exchange.message)} />
                )}
                {onEdit && (
                  <Button
                    look="quiet"
                    icon="edit"
                    label="Edit in a new session"
                    onClick={() => onEdit(exchange.message)}
                  />
                )}
                <AnswerSwitch />
                <CopyButton text={exchange.response} label="Copy the answer" />
              </span>
            )}
          </footer>
        </article>
      ))}
    </div>
  )
}

function Answer({ exchange: { response, isRunning, tools, error, run } }: { exchange: Exchange }) {
  const wasCancelled = run?.status === 'cancelled'
  return (
    <div class="answer">
      {tools.map((tool) => (
        <p key={tool.id} class="tool">
          <code>{tool.name}</code> {tool.error ? 'failed' : tool.result === undefined ? 'is called …' : 'answered'}
        </p>
      ))}
      {!isRunning && run?.status === 'waiting' && (
        <p class="notice">
          It waits for a person. <a href={href('/approvals')}>Approvals</a> has what is to be decided.
        </p>
      )}
      <div aria-busy={isRunning}>
        <AnswerText text={response} />
        {isRunning && <i class="caret" />}
      </div>
      {error && !wasCancelled && (
        <p class="failure" role="alert">
          <span>
            <code>{error.code}</code> {error.message}
          </span>
        </p>
      )}
    </div>
  )
}

function Facts({ exchange, onSelect }: { exchange: Exchange; onSelect(exchange: Exchange): void }) {
  const { isRunning, run, request_id } = exchange
  if (!request_id) return <Status value={isRunning ? 'running' : 'failed'} isLive={isRunning} />
  return (
    <span class="facts">
      {run ? (
        <button type="button" class="link-like" onClick={() => onSelect(exchange)}>
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
