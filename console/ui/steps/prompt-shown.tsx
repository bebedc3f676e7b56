import { useState } from 'preact/hooks'
import type { Invocation, Prompt } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { agentPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Failure } from '../failure.tsx'
import { LongText } from './long-text.tsx'

type PromptQuery = { run: Invocation; step: number }

function usePrompt({ run: { agent_id, request_id, steps } }: PromptQuery, step: number | undefined) {
  // A run that continues has more steps each time it is loaded.
  const key = step === undefined ? undefined : `prompt ${request_id} ${step} ${steps.length}`
  return useResource(key, (signal) => service.invocations.prompt(agent_id, request_id, { step: step ?? 0 }, { signal }))
}

/** What the model was shown in this step. It is loaded when it is opened. */
export function PromptShown({ run, step }: PromptQuery) {
  const [isOpen, setOpen] = useState(false)
  const prompt = usePrompt({ run, step }, isOpen ? step : undefined)
  return (
    <details class="prompt" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Prompt</summary>
      <Failure error={prompt.error} retry={prompt.reload} />
      {prompt.data && <Messages prompt={prompt.data} />}
    </details>
  )
}

function Messages({ prompt: { messages, tools, notes, model } }: { prompt: Prompt }) {
  return (
    <>
      {notes.map((note) => (
        <p key={note} class="notice">
          {note}
        </p>
      ))}
      <p class="soft">
        {model}
        {tools.length > 0 && `, with the tools ${tools.map(({ name }) => name).join(', ')}`}
      </p>
      <ol>
        {messages.map((message, i) => (
          <li key={i}>
            <h4>
              {message.role}
              {message.name && ` ${message.name}`}
            </h4>
            {message.content !== '' && (
              <LongText label={`message ${i + 1}`} text={message.content} characters={message.characters} />
            )}
            {message.calls?.map((call, at) => (
              <p key={at}>
                → <code>{call.name}</code> <code class="soft">{JSON.stringify(call.arguments)}</code>
              </p>
            ))}
          </li>
        ))}
      </ol>
    </>
  )
}

/** The recalled memories, with how well each one matched. */
export function RecalledMemories({ run, step }: PromptQuery) {
  const prompt = usePrompt({ run, step }, step)
  const { memories = [], notes = [] } = prompt.data ?? {}
  return (
    <>
      <Failure error={prompt.error} retry={prompt.reload} />
      <ul class="recalled">
        {memories.map(({ id, score, role, kind, content, shown }) => (
          <li key={id}>
            <span class="number">{score.toFixed(2)}</span>
            <span class="tag">{role ?? kind}</span>
            <span>
              {content}
              {!shown && <span class="soft"> (left out)</span>}
            </span>
          </li>
        ))}
      </ul>
      {notes.map((note) => (
        <p key={note} class="soft">
          {note}
        </p>
      ))}
      <a href={href(agentPath(run.agent_id, 'memory'))}>The agent’s memory</a>
    </>
  )
}
