import type { ChatThread } from '../../answers/conversation-answer.ts'
import type { Payload } from '../receive/payload.ts'
import type { Trigger, TriggerKind } from '../trigger.ts'

/** The kinds of triggers that answer in a conversation. */
export type ChannelKind = Exclude<TriggerKind, 'webhook'>

/** What a person wrote in a conversation. */
export type ChatMessage = {
  text: string
  /** As the platform names the person, without the prefix. */
  user: string
  conversation: ChatThread
  /** Names the message, however often it is sent. */
  event: string
  /** On channels that everybody can write to: the address. How often it can write is limited. */
  sender?: string
}

/** A message that isn't answered, and why. */
export type IgnoredMessage = { ignored: { code: string; reason: string } }

/** What a person can choose in a message. `value` is sent back when they do. */
export type ChatButton = { label: string; value: string }

/** That a person has chosen a button. */
export type ButtonPress = {
  value: string
  /** As the platform names the person, without the prefix. */
  user: string
  /** The message with the buttons, for the platform. */
  place: ChatThread['place']
}

/** A request to a platform. Its URL can contain a token, so it must not reach a log or an error. */
export type PlatformCall = { url: string; headers: Readonly<Record<string, string>>; body: object }

/** What a platform replied. `body` is undefined if it wasn't JSON. */
export type PlatformReply = { status: number; body: unknown; retry_after_ms: number }

/** Whether a platform has accepted a call. If it `isFinal`, the same call would fail again. */
export type CallVerdict = 'accepted' | { error: string; retry_after_ms: number; isFinal: boolean }

/** Where a trigger's calls go, and the value of its token. */
export type BotAccess = { api_url: string; token: string; mail?: NonNullable<Trigger['email']> | undefined }

/** A text to show. `id` names it, however often it is sent. */
export type Post = { id: string; text: string; buttons?: readonly ChatButton[] | undefined }

/** What we know about a platform. */
export type Channel = {
  /** Whether people can choose buttons. */
  hasButtons: boolean
  /** What a person wrote. Undefined for everything else: other events, changes, and what bots wrote. */
  read(payload: Payload, trigger: Pick<Trigger, 'email'>): ChatMessage | IgnoredMessage | undefined
  /** The parts of a text, each short enough for the platform and in its markup. */
  split(text: string): string[]
  post(access: BotAccess, place: ChatThread['place'], post: Post): PlatformCall
  /** A choice, as the platform reports it. */
  readPress(payload: Payload): ButtonPress | undefined
  /** Shows what was chosen, instead of the buttons. */
  settle(access: BotAccess, press: ButtonPress, said: string): PlatformCall[]
  /** Shows in the conversation that an answer is being written. Undefined if the platform can't show it. */
  typing(access: BotAccess, place: ChatThread['place']): PlatformCall | undefined
  judge(reply: PlatformReply): CallVerdict
}
