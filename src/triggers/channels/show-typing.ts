import type { ChatThread } from '../../answers/conversation-answer.ts'
import type { Parts } from '../../operation/parts.ts'
import type { Trigger } from '../trigger.ts'
import { callPlatform } from './call-platform.ts'

/** Shows in the conversation that an answer is being written. It is a courtesy, so nothing depends on its success. */
export function showTyping(
  { trigger, project_id }: { trigger: Trigger; project_id: string },
  { place }: ChatThread,
  { config, errands, fetch, now, secrets }: Pick<Parts, 'config' | 'errands' | 'fetch' | 'now' | 'secrets'>,
): void {
  errands.begin('showing that an answer is being written', async (signal) => {
    const known = await secrets(project_id)
    await callPlatform(trigger, (channel, access) => channel.typing(access, place), {
      config,
      fetch,
      secrets: known,
      now,
      signal,
    }).catch(() => {})
  })
}
