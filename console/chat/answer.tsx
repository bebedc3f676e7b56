import { useState } from 'preact/hooks'
import { Icon } from '../ui/icon.tsx'
import { Markdown } from '../ui/text/markdown.tsx'
import type { Ask } from './chat-client.ts'
import { answerAsk, type Exchange, rateAnswer, repeat } from './talk.ts'

/** A message and its answer. */
export function Answer({ exchange }: { exchange: Exchange }) {
  const { key, message, file_names, answer, state, asks, problem, canRepeat } = exchange
  return (
    <li>
      <div class="said">
        <span class="hidden">You: </span>
        {message}
        {file_names.map((name, i) => (
          <span key={i} class="soft">
            {name}
          </span>
        ))}
      </div>
      <span class="hidden">Answer: </span>
      {answer !== '' && <Markdown text={answer} below={1} />}
      {STATES[state] !== undefined && asks.length === 0 && <p class="note">{STATES[state]}</p>}
      {asks.map((ask) => (
        <AskForm key={ask.call_id} of={key} ask={ask} />
      ))}
      {problem !== undefined && <p class="problem">{problem}</p>}
      {canRepeat && (
        <button type="button" onClick={() => repeat(key)}>
          Try again
        </button>
      )}
      {state === 'done' && <Thumbs exchange={exchange} />}
    </li>
  )
}

const STATES: Partial<Record<Exchange['state'], string>> = {
  answering: 'Answering…',
  working: 'Working…',
  waiting: 'Waiting for a person to decide…',
  cancelled: 'Stopped',
}

function Thumbs({ exchange: { key, score } }: { exchange: Exchange }) {
  const [problem, setProblem] = useState<string>()
  const thumb = (value: number, icon: 'good' | 'bad', label: string) => (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={label}
      aria-pressed={score !== null && Math.sign(score) === value}
      onClick={() => rateAnswer(key, value).catch((error: Error) => setProblem(error.message))}
    >
      <Icon name={icon} />
    </button>
  )
  return (
    <div role="group" aria-label="Rate this answer">
      {thumb(1, 'good', 'Good answer')}
      {thumb(-1, 'bad', 'Bad answer')}
      {problem !== undefined && <p class="problem">{problem}</p>}
    </div>
  )
}

/** A question of the agent, or a call that it may only make if the visitor agrees. */
function AskForm({ of, ask }: { of: string; ask: Ask }) {
  const [answer, setAnswer] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const decide = (body: object) => {
    setBusy(true)
    answerAsk(of, ask, body).catch((error: Error) => {
      setProblem(error.message)
      setBusy(false)
    })
  }
  const isQuestion = ask.kind === 'question'
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault()
        decide({ decision: 'approve', ...(isQuestion && { answer }) })
      }}
    >
      {isQuestion ? (
        <>
          <label for={ask.call_id}>{ask.question}</label>
          <div class="row">
            {ask.options?.map((option) => (
              <button
                type="button"
                key={option}
                disabled={isBusy}
                onClick={() => decide({ decision: 'approve', answer: option })}
              >
                {option}
              </button>
            ))}
          </div>
          <input
            id={ask.call_id}
            value={answer}
            maxLength={10_000}
            onInput={({ currentTarget }) => setAnswer(currentTarget.value)}
          />
        </>
      ) : (
        <>
          <p>
            The agent asks to use <strong>{ask.tool}</strong>:
          </p>
          <pre tabIndex={0} aria-label="What the agent asks for">
            {JSON.stringify(ask.arguments, null, 2)}
          </pre>
        </>
      )}
      <div class="row">
        <button type="submit" class="main" disabled={isBusy || (isQuestion && answer.trim() === '')}>
          {isQuestion ? 'Answer' : 'Allow'}
        </button>
        <button type="button" disabled={isBusy} onClick={() => decide({ decision: 'reject' })}>
          {isQuestion ? 'Decline' : "Don't allow"}
        </button>
      </div>
      {problem !== undefined && <p class="problem">{problem}</p>}
    </form>
  )
}
