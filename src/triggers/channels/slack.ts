import { z } from 'zod'
import type { Payload } from '../receive/payload.ts'
import type {
  BotAccess,
  ButtonPress,
  CallVerdict,
  Channel,
  ChatButton,
  ChatMessage,
  PlatformCall,
  PlatformReply,
} from './channel.ts'
import { splitText } from './split-text.ts'

const Id = z.string().regex(/^[A-Z0-9]{1,64}$/)
const Stamp = z.string().regex(/^\d{1,20}\.\d{1,20}$/)

/** https://docs.slack.dev/reference/events/app_mention and message.im */
const SlackEvent = z.object({
  type: z.literal('event_callback'),
  team_id: Id,
  authorizations: z.array(z.object({ user_id: z.string() })).optional(),
  event: z.object({
    type: z.enum(['app_mention', 'message']),
    channel_type: z.string().optional(),
    subtype: z.string().optional(),
    bot_id: z.string().nullish(),
    channel: Id,
    user: Id,
    user_team: Id.optional(),
    text: z.string(),
    ts: Stamp,
    thread_ts: Stamp.optional(),
  }),
})

/** Slack shortens longer texts. The limit of one is 40,000 characters, and markup needs some of them. */
const LONGEST = 4_000

/** With these errors, the same call would fail again. */
const FINAL_ERRORS = new Set([
  'channel_not_found',
  'is_archived',
  'msg_too_long',
  'no_text',
  'not_in_channel',
  'restricted_action',
  'cannot_reply_to_message',
])

const ERROR = /^[a-z_]{1,80}$/

export const slack: Channel = {
  read: readSlack,
  split: (text) => splitText(text, LONGEST).map(toMrkdwn),
  // Without previews, a link in an answer isn't opened by anybody but the reader.
  hasButtons: true,
  post: (access, { channel, thread_ts }, { text, buttons }) =>
    slackCall(access, 'chat.postMessage', {
      channel,
      thread_ts,
      text,
      unfurl_links: false,
      unfurl_media: false,
      ...(buttons && { blocks: blocksOf(text, buttons) }),
    }),
  readPress: readSlackPress,
  settle: (access, { place: { channel, ts, text } }, said) => [
    slackCall(access, 'chat.update', { channel, ts, text: `${text}\n\n${toMrkdwn(said)}`, blocks: [] }),
  ],
  typing: (access, { channel, thread_ts, ts }) =>
    slackCall(access, 'assistant.threads.setStatus', {
      channel_id: channel,
      thread_ts: thread_ts ?? ts,
      status: 'is typing…',
    }),
  judge: judgeSlack,
}

const LONGEST_SECTION = 3_000
/** What a cut leaves of a link, of an escaped character, or of a character that consists of two halves. */
const TORN = /(?:<[^>]*|&[a-z]{0,3}|[\uD800-\uDBFF])$/

function blocksOf(text: string, buttons: readonly ChatButton[]): object[] {
  const shown = text.length > LONGEST_SECTION ? text.slice(0, LONGEST_SECTION).replace(TORN, '') : text
  const elements = buttons.map(({ label, value }, i) => ({
    type: 'button',
    action_id: `choice_${i}`,
    text: { type: 'plain_text', text: label },
    value,
  }))
  return [
    { type: 'section', text: { type: 'mrkdwn', text: shown } },
    { type: 'actions', elements },
  ]
}

/** https://docs.slack.dev/reference/interaction-payloads/block_actions-payload */
const SlackPress = z.object({
  payload: z.object({
    type: z.literal('block_actions'),
    user: z.object({ id: Id, team_id: Id.optional() }),
    team: z.object({ id: Id }),
    channel: z.object({ id: Id }),
    message: z.object({ ts: Stamp, text: z.string().default('') }),
    actions: z.array(z.object({ value: z.string() })).length(1),
  }),
})

function readSlackPress({ body }: Payload): ButtonPress | undefined {
  const { payload } = SlackPress.safeParse(body).data ?? {}
  if (!payload) return undefined
  const { user, team, channel, message, actions } = payload
  const { ts, text } = message
  return {
    value: actions[0]?.value ?? '',
    user: `${user.team_id ?? team.id}/${user.id}`,
    place: { channel: channel.id, ts, text },
  }
}

function slackCall({ api_url, token }: BotAccess, method: string, body: object): PlatformCall {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json; charset=utf-8' }
  return { url: `${api_url}/${method}`, headers, body }
}

function readSlack({ body }: Payload): ChatMessage | undefined {
  const { data } = SlackEvent.safeParse(body)
  if (!data) return undefined
  const { team_id, authorizations = [], event } = data
  const { type, channel_type, subtype, bot_id, channel, user, user_team = team_id, ts, thread_ts } = event
  const isDirect = type === 'message' && channel_type === 'im'
  const isOwn = authorizations.some(({ user_id }) => user_id === user)
  const isByPerson = !bot_id && !isOwn && user !== 'USLACKBOT' && (subtype === undefined || subtype === 'file_share')
  if (!isByPerson || (type === 'message' && !isDirect)) return undefined
  // A mention in a channel starts a thread. Direct messages continue one conversation.
  const thread = thread_ts ?? (isDirect ? undefined : ts)
  const bots = authorizations.map(({ user_id }) => user_id)
  return {
    text: plainText(event.text, bots),
    user: `${user_team}/${user}`,
    conversation: {
      key: [team_id, channel, ...(thread ? [thread] : [])].join('/'),
      place: { channel, ts, ...(thread && { thread_ts: thread }) },
    },
    event: `${team_id}/${channel}/${ts}`,
  }
}

/** What the person wrote, without the mention of the bot. */
function plainText(text: string, bots: readonly string[]): string {
  return text
    .replace(/<@([A-Z0-9]+)(?:\|[^<>]*)?>/g, (mention, id: string) => (bots.includes(id) ? '' : mention))
    .replace(/<((?:https?|mailto):[^|<>]{1,3000})\|([^<>]*)>/g, '$2 ($1)')
    .replace(/<((?:https?|mailto):[^|<>]{1,3000})>/g, '$1')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .trim()
}

function judgeSlack({ status, body, retry_after_ms }: PlatformReply): CallVerdict {
  const { ok, error } = (body ?? {}) as { ok?: unknown; error?: unknown }
  if (status === 200 && ok === true) return 'accepted'
  const code = typeof error === 'string' && ERROR.test(error) ? error : undefined
  const isFinal = code !== undefined && FINAL_ERRORS.has(code)
  return { error: code ?? (status === 200 ? 'no valid reply' : `HTTP ${status}`), retry_after_ms, isFinal }
}

const CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]+`)/

/**
 * Turns Markdown into Slack's markup. Characters with a meaning there are escaped, so no answer can notify a whole
 * channel.
 */
function toMrkdwn(markdown: string): string {
  const escaped = markdown.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
  // Every second piece is code.
  const pieces = escaped.split(CODE)
  return pieces.map((piece, i) => (i % 2 === 1 ? piece.replace(/^```\w+\n/, '```\n') : formatted(piece))).join('')
}

function formatted(text: string): string {
  return text
    .replace(/\[([^[\]\n|]{1,500})\]\(((?:https?:\/\/|mailto:)[^\s)|[]{1,2000})\)/g, '<$2|$1>')
    .replace(/^#{1,6} +(.+)$/gm, (_line, title: string) => `*${title.replace(/\*\*/g, '').trim()}*`)
    .replace(/\*\*(\S(?:[^\n]*?\S)?)\*\*/g, '*$1*')
    .replace(/~~(\S(?:[^\n]*?\S)?)~~/g, '~$1~')
    .replace(/^([ \t]*)[-*] +/gm, '$1• ')
}
