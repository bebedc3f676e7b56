import { type Part, Role, type SendMessageRequest } from '@a2a-js/sdk'
import type { Round } from '../../models/model.ts'
import { outputInstruction } from '../../output/ask-in-words.ts'
import type { RunInProgress } from '../../run-in-progress.ts'
import { filled } from '../call-body.ts'

/** Where a message belongs. Without a task it starts one, and without a context it starts a conversation. */
export type MessagePlace = { messageId: string; contextId: string; taskId: string }

/**
 * The number of a message in its run. The first message has one, and so does each request to correct an answer that
 * didn't fit.
 */
export function messageNumber(rounds: readonly Round[]): number {
  return 1 + rounds.filter(({ told }) => told !== undefined).length
}

/** What the agent receives: the message with its files, or what was wrong with its answer. */
export async function messageParts(run: RunInProgress, rounds: readonly Round[]): Promise<Part[]> {
  const unfit = rounds.findLast(({ told }) => told !== undefined)?.told
  if (unfit !== undefined) return [textPart(unfit)]
  const { message, attachments = [] } = run.input
  const wanted = run.output && [textPart(outputInstruction(run.output.wanted))]
  return [textPart(message), ...(await filled(attachments, run)).map(filePart), ...(wanted ?? [])]
}

export function messageOf(parts: Part[], place: MessagePlace, wantsValue: boolean): SendMessageRequest {
  const acceptedOutputModes = wantsValue ? ['application/json', 'text/plain'] : []
  return {
    tenant: '',
    metadata: undefined,
    message: { ...place, role: Role.ROLE_USER, parts, metadata: undefined, extensions: [], referenceTaskIds: [] },
    configuration: { acceptedOutputModes, taskPushNotificationConfig: undefined, returnImmediately: false },
  }
}

export function textPart(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}

function filePart({ name, media_type, size, data, missing }: Awaited<ReturnType<typeof filled>>[number]): Part {
  if (data === null) return textPart(`[file ${name}: ${media_type}, ${size} bytes, not sent: it is ${missing}]`)
  const value = Buffer.from(data, 'base64')
  return { content: { $case: 'raw', value }, metadata: undefined, filename: name, mediaType: media_type }
}
