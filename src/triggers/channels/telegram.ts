import { z } from 'zod'
import { isObject } from '../../lib/json.ts'
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

/** A number that JavaScript can't hold arrives as text. */
const Id = z.union([z.int(), z.string().regex(/^-?\d{1,20}$/)])

/** https://core.telegram.org/bots/api#update */
const TelegramUpdate = z.object({
  message: z.object({
    message_id: Id,
    message_thread_id: Id.optional(),
    is_topic_message: z.boolean().optional(),
    from: z.object({ id: Id, is_bot: z.boolean() }),
    chat: z.object({ id: Id, type: z.string() }),
    text: z.string().optional(),
    caption: z.string().optional(),
  }),
})

const LONGEST = 4_096
const MAX_SECONDS = 86_400

/** A token is part of the URL, so nothing else may be in it. */
const TOKEN = /^[\w:-]{1,200}$/

export const telegram: Channel = {
  read: readTelegram,
  split: (text) => splitText(text, LONGEST),
  hasButtons: true,
  post: (access, { chat_id, message_thread_id, reply_to }, { text, buttons }) =>
    telegramCall(access, 'sendMessage', {
      chat_id,
      message_thread_id,
      text,
      link_preview_options: { is_disabled: true },
      ...(buttons && { reply_markup: { inline_keyboard: buttons.map(keyOf) } }),
      ...(reply_to !== undefined && {
        reply_parameters: { message_id: reply_to, allow_sending_without_reply: true },
      }),
    }),
  readPress: readTelegramPress,
  settle: (access, { place: { query, chat_id, message_id, text } }, said) => [
    telegramCall(access, 'answerCallbackQuery', { callback_query_id: query }),
    telegramCall(access, 'editMessageText', { chat_id, message_id, text: `${text}\n\n${said}`.slice(0, LONGEST) }),
  ],
  typing: (access, { chat_id, message_thread_id }) =>
    telegramCall(access, 'sendChatAction', { chat_id, message_thread_id, action: 'typing' }),
  judge: judgeTelegram,
}

const keyOf = ({ label, value }: ChatButton) => [{ text: label, callback_data: value }]

/** https://core.telegram.org/bots/api#callbackquery */
const TelegramPress = z.object({
  callback_query: z.object({
    id: z.string().max(100),
    from: z.object({ id: Id, is_bot: z.boolean() }),
    data: z.string(),
    message: z.object({ message_id: Id, chat: z.object({ id: Id }), text: z.string().default('') }),
  }),
})

function readTelegramPress({ body }: Payload): ButtonPress | undefined {
  const { callback_query } = TelegramPress.safeParse(body).data ?? {}
  if (!callback_query || callback_query.from.is_bot) return undefined
  const { id: query, from, data, message } = callback_query
  const { message_id, chat, text } = message
  return { value: data, user: `${from.id}`, place: { query, chat_id: chat.id, message_id, text } }
}

export class InvalidToken extends Error {}

function telegramCall({ api_url, token }: BotAccess, method: string, body: object): PlatformCall {
  if (!TOKEN.test(token)) throw new InvalidToken()
  return { url: `${api_url}/bot${token}/${method}`, headers: { 'Content-Type': 'application/json' }, body }
}

function readTelegram({ body }: Payload): ChatMessage | undefined {
  const { message } = TelegramUpdate.safeParse(body).data ?? {}
  if (!message || message.from.is_bot) return undefined
  const { message_id, message_thread_id, is_topic_message, from, chat, text = message.caption ?? '' } = message
  const topic = is_topic_message ? message_thread_id : undefined
  return {
    text: text.trim(),
    user: `${from.id}`,
    conversation: {
      key: topic === undefined ? `${chat.id}` : `${chat.id}/${topic}`,
      place: {
        chat_id: chat.id,
        ...(topic !== undefined && { message_thread_id: topic }),
        ...(chat.type !== 'private' && { reply_to: message_id }),
      },
    },
    event: `${chat.id}/${message_id}`,
  }
}

function judgeTelegram({ status, body, retry_after_ms }: PlatformReply): CallVerdict {
  if (status === 200 && isObject(body) && body['ok'] === true) return 'accepted'
  const { description, parameters } = (body ?? {}) as { description?: unknown; parameters?: { retry_after?: unknown } }
  const asked = Number(parameters?.retry_after)
  const seconds = asked > 0 ? Math.min(asked, MAX_SECONDS) : 0
  const said = typeof description === 'string' ? description.slice(0, 200) : `HTTP ${status}`
  // 400: the request is wrong or the chat is gone. 403: the person has blocked the bot.
  const isFinal = status === 400 || status === 403
  return {
    error: status === 200 ? 'no valid reply' : said,
    retry_after_ms: Math.max(retry_after_ms, seconds * 1000),
    isFinal,
  }
}
