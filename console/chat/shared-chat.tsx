import { render } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Markdown } from '../ui/text/markdown.tsx'
import { Answer } from './answer.tsx'
import { MessageForm } from './message-form.tsx'
import { beginAnew, exchanges, isLoading, load, loadProblem, say, spoken } from './talk.ts'

type Shown = { title: string; welcome: string | null; starters: string[] }

/** The page of a link. It sends nothing to other hosts, and everything that it shows is text. */
function Chat({ title, welcome, starters }: Shown) {
  useEffect(() => void load(), [])
  const isNew = exchanges.value.length === 0 && !isLoading.value
  return (
    <>
      <header class="top">
        <div class="bar">
          <h1>{title}</h1>
          {!isNew && (
            <button type="button" onClick={beginAnew}>
              New conversation
            </button>
          )}
        </div>
      </header>
      <main class="talk" tabIndex={-1} ref={useBottom()}>
        <div>
          {welcome !== null && (
            <div class="welcome">
              <Markdown text={welcome} below={1} />
            </div>
          )}
          {loadProblem.value !== undefined && <p class="problem">{loadProblem.value}</p>}
          {isNew && starters.length > 0 && (
            <div class="starters" role="group" aria-label="Suggested messages">
              {starters.map((text) => (
                <button type="button" key={text} onClick={() => say(text, [])}>
                  {text}
                </button>
              ))}
            </div>
          )}
          <ol aria-label="Conversation">
            {exchanges.value.map((exchange) => (
              <Answer key={exchange.key} exchange={exchange} />
            ))}
          </ol>
        </div>
      </main>
      <footer class="composer">
        <MessageForm />
      </footer>
      <p class="hidden" role="status">
        {spoken.value}
      </p>
    </>
  )
}

/** Keeps the end of the conversation in view while it grows, unless the reader has scrolled up. */
function useBottom() {
  const talk = useRef<HTMLElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    const element = talk.current
    if (!element) return undefined
    const look = () => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 40
    }
    element.addEventListener('scroll', look, { passive: true })
    return () => element.removeEventListener('scroll', look)
  }, [])
  const all = exchanges.value
  useLayoutEffect(() => {
    if (isAtEnd.current && talk.current) talk.current.scrollTop = talk.current.scrollHeight
  }, [all])
  return talk
}

// In a frame, the page around it closes the chat.
if (window.parent !== window) {
  addEventListener('keydown', ({ key, defaultPrevented }) => {
    if (key === 'Escape' && !defaultPrevented) window.parent.postMessage('moorage-chat-close', '*')
  })
}

const app = document.querySelector('#app')
const shown = JSON.parse(document.querySelector('#shown')?.textContent ?? '{}') as Partial<Shown>
if (app) render(<Chat title="Chat" welcome={null} starters={[]} {...shown} />, app)
