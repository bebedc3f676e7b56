import type { ChatThread } from '../../answers/conversation-answer.ts'
import type { Parts } from '../../operation/parts.ts'
import type { Trigger } from '../trigger.ts'
import { type CallsOf, callPlatform } from './call-platform.ts'
import type { ButtonPress } from './channel.ts'

type Shown = { trigger: Trigger; project_id: string }
type ShowParts = Pick<Parts, 'config' | 'errands' | 'fetch' | 'now' | 'secrets'>

/** Shows in the conversation that an answer is being written. It is a courtesy, so nothing depends on its success. */
export function showTyping(shown: Shown, { place }: ChatThread, parts: ShowParts): void {
  if (shown.trigger.kind === 'email') return
  call(shown, (channel, access) => [channel.typing(access, place)].filter((one) => one !== undefined), parts)
}

/** Shows in the conversation what was chosen, so that the buttons go away. */
export function showDecision(shown: Shown, press: ButtonPress, said: string, parts: ShowParts): void {
  call(shown, (channel, access) => channel.settle(access, press, said), parts)
}

function call({ trigger, project_id }: Shown, callsOf: CallsOf, { errands, secrets, ...parts }: ShowParts): void {
  errands.begin('showing in a conversation what happens', async (signal) => {
    const options = { ...parts, secrets: await secrets(project_id), signal }
    await callPlatform(trigger, callsOf, options).catch(() => {})
  })
}
