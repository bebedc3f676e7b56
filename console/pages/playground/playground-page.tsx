import { useState } from 'preact/hooks'
import type { Agent } from '../../../sdk/client.ts'
import { useDraftText } from '../../lib/agents/drafts.ts'
import { attachedTo } from '../../lib/files/shown-file.ts'
import { useUploads } from '../../lib/files/use-uploads.ts'
import { setParams } from '../../lib/location.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import type { Params } from '../../routes.ts'
import { DropArea } from '../../ui/files/file-picker.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { Chat } from './chat.tsx'
import { Composer } from './composer.tsx'
import { type Conversation, type OutgoingMessage, openConversation, type ShownInvocation, say } from './conversation.ts'
import { Inspector } from './inspector.tsx'
import { askedInUrl, leaveSession, PlaygroundFilters, type PlaygroundTarget } from './playground-filters.tsx'
import { choicesOf } from './serving-choices.ts'

export function PlaygroundPage({ params: { agent = '' } }: { params: Params }) {
  return (
    <AgentFrame name={agent} tab="">
      {(loaded) => <Playground agent={loaded} />}
    </AgentFrame>
  )
}

/** The session is in the URL, so a reload finds the conversation again, including an answer that is still arriving. */
function Playground({ agent: { name } }: { agent: Agent }) {
  const asked = askedInUrl()
  const { session, user, environment, beside } = asked
  const [text, setText] = useDraftText(`message to ${name}`)
  const uploads = useUploads(user)
  const [selected, setSelected] = useState<string | undefined>(undefined)
  const active = useResource(`serving ${name}`, (signal) =>
    service.deployments.list(name, { status: 'active', limit: 100, sort: 'environment' }, { signal }),
  )
  const choices = choicesOf(active.data?.data ?? [])
  const columns = columnsOf(name, asked)
  const invocations = columns[0]?.conversation.invocations.value ?? []
  const shown = invocations.find(({ key }) => key === selected) ?? invocations.at(-1)

  const send = (said: OutgoingMessage, in_session = session ?? newSession()) => {
    if (in_session !== session) setParams({ session: in_session })
    const to = (where: string, suffix = '') =>
      say(openConversation(name, in_session + suffix), said, { user, environment: where })
    to(environment)
    if (beside) to(beside, '-beside')
    setSelected(undefined)
  }
  const sendTyped = () => {
    send({ message: text.trim(), attachments: uploads.stored })
    setText('')
    uploads.clear()
  }
  const edit = ({ message, attachments }: OutgoingMessage) => {
    leaveSession()
    setText(message)
    uploads.put(attachments)
  }
  const mayInvoke = may('invokeAgent')
  const chat = (conversation: Conversation) => (
    <Chat
      conversation={conversation}
      selected={beside ? undefined : shown?.key}
      onSelect={({ key }: ShownInvocation) => setSelected(key)}
      {...(mayInvoke && { onAgain: (said) => send(said), onEdit: edit })}
    />
  )
  const body = {
    message: text || shown?.message || 'Hello!',
    ...attachedTo(text || uploads.items.length > 0 ? uploads.stored : (shown?.attachments ?? [])),
    context: { ...(user && { user_id: user }), session_id: session ?? 'my-session' },
    ...(environment !== 'production' && { environment }),
  }
  return (
    <div class={beside ? 'playground compared' : 'playground'}>
      <DropArea class="talk" label="Playground" onFiles={mayInvoke && may('createFile') ? uploads.add : undefined}>
        <PlaygroundFilters {...asked} choices={choices} />
        <div class="conversations">
          {columns.length === 0 && (
            <div class="chat first">
              <p>
                Send {name} a message. The session stays in this page's URL, so you can reload the page or share it.
              </p>
            </div>
          )}
          {columns.map(({ where, conversation }) => (
            <div key={where + conversation.session} class="conversation">
              {beside && <h2>{choices.find(({ value }) => value === where)?.label ?? where}</h2>}
              {chat(conversation)}
            </div>
          ))}
        </div>
        {mayInvoke && <Composer agent={name} text={text} onText={setText} onSend={sendTyped} uploads={uploads} />}
      </DropArea>
      {!beside && <Inspector agent={name} invocation={shown} body={body} />}
    </div>
  )
}

/** The conversations with each environment that is asked. */
function columnsOf(name: string, { session, environment, beside }: PlaygroundTarget) {
  if (!session) return []
  return [environment, ...(beside ? [beside] : [])].map((where, i) => ({
    where,
    conversation: openConversation(name, i === 0 ? session : `${session}-beside`),
  }))
}

function newSession(): string {
  const random = crypto.getRandomValues(new Uint8Array(6))
  return `play-${Array.from(random, (byte) => byte.toString(36).padStart(2, '0')).join('')}`
}
