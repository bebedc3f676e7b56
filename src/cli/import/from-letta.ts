import { isObject, parseIfJson } from '../../lib/json.ts'
import { type Fields, type ImportItem, itemOf, textOf, timeOf } from './import-item.ts'

/**
 * Letta: an agent file (`.af`) in the new or the old format. Its blocks become facts, and its messages become turns.
 */
export function fromAgentFile(file: Fields): ImportItem[] {
  const agents = listOf(file['agents'])
  const messages = (agents.length > 0 ? agents : [file]).flatMap((agent) => listOf(agent['messages']))
  const blocks = [...listOf(file['blocks']), ...listOf(file['core_memory'])]
  return [...blocks.flatMap(factOf), ...fromMessages(messages)]
}

export function isAgentFile(value: unknown): value is Fields {
  return isObject(value) && (Array.isArray(value['agents']) || Array.isArray(value['messages']))
}

/** The messages of a Letta agent, from its file or its API. */
export function fromMessages(messages: Fields[]): ImportItem[] {
  return messages.flatMap((message) => {
    const said = saidIn(message)
    if (!said) return []
    const created_at = timeOf(message['created_at'] ?? message['date'])
    return itemOf('turn', said.content, { role: said.role, created_at, metadata: idOf(message) })
  })
}

export function isMessages([first]: Fields[]): boolean {
  return textOf(first?.['message_type']) !== undefined || textOf(first?.['role']) !== undefined
}

function factOf(block: Fields): ImportItem[] {
  const value = textOf(block['value'])
  return value === undefined ? [] : [itemOf('fact', value, { metadata: { label: block['label'] ?? 'block' } })]
}

type LettaText = { role: 'user' | 'assistant'; content: string }

const ROLES: Record<string, LettaText['role']> = {
  user: 'user',
  assistant: 'assistant',
  user_message: 'user',
  assistant_message: 'assistant',
}

/** Thoughts, tool calls, system messages and heartbeats are left out. */
function saidIn(message: Fields): LettaText | undefined {
  const role = ROLES[String(message['message_type'] ?? message['role'])]
  if (role === undefined) return undefined
  const text = contentOf(message['content'] ?? message['text'])
  const content = role === 'user' ? unpacked(text) : (sentMessage(message) ?? text)
  return content === undefined ? undefined : { role, content }
}

/** The content is a text, or a list that contains texts. */
function contentOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return textOf(content)
  const texts = listOf(content).flatMap((part) => (part['type'] === 'text' ? (textOf(part['text']) ?? []) : []))
  return textOf(texts.join('\n'))
}

/** A user's message may be wrapped in JSON together with its time. Heartbeats and logins are wrapped the same way. */
function unpacked(text: string | undefined): string | undefined {
  const packed = text?.startsWith('{') ? parseIfJson(text) : undefined
  if (!isObject(packed) || textOf(packed['type']) === undefined) return text
  return packed['type'] === 'user_message' ? textOf(packed['message']) : undefined
}

/** Older agents speak by calling a tool. Their own text is what they thought. */
function sentMessage(message: Fields): string | undefined {
  const calls = listOf(message['tool_calls'])
  if (calls.length === 0) return undefined
  const sent = calls.flatMap(({ function: called }) => {
    if (!isObject(called) || called['name'] !== 'send_message') return []
    const given = parseIfJson(String(called['arguments']))
    return isObject(given) ? (textOf(given['message']) ?? []) : []
  })
  return sent.length > 0 ? sent.join('\n') : undefined
}

function idOf({ id }: Fields): Fields {
  return textOf(id) === undefined ? {} : { letta_id: id }
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
