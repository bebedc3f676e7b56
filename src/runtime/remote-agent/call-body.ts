import type { Attachment } from '../attachments/attachment.ts'
import type { Round } from '../models/model.ts'
import type { RunInProgress } from '../run-in-progress.ts'
import { wantedOutput } from '../run-input.ts'
import { doneIn } from './asked-step.ts'
import type { RemoteCallBody } from './contract.ts'
import { isHostStep } from './host-steps.ts'

/** All files of a call together. The agent reads larger ones by itself. */
const MOST_FILE_BYTES = 4 * 1024 * 1024

/** Where the agent finds its run, and with what. */
export type RunDoor = { url: string; token: string }

/** Files that do not come along, and until when the agent may read them. */
export type FilesLeft = { ids: readonly string[]; until: number }

export async function callBody(
  run: RunInProgress,
  rounds: readonly Round[],
  openDoor: (files: FilesLeft | undefined) => RunDoor,
): Promise<string> {
  const { request_id, attempt, input, left, toolbox, deadline, now } = run
  const { agent, message, context, history, summary, recalled, attachments = [], given } = input
  const output = wantedOutput(input)
  const files = await filled(attachments, run)
  const until = now() + deadline.remaining()
  const left_files = files.filter(({ isLeft }) => isLeft).map(({ file_id }) => file_id)
  const door = openDoor(left_files.length > 0 ? { ids: left_files, until } : undefined)
  const body: RemoteCallBody = {
    request_id,
    attempt,
    message,
    context,
    history: history.map(({ role, content }) => ({ role, content })),
    summary: summary ?? null,
    recalled: recalled.map(({ content, role, created_at }) => ({
      content,
      role,
      created_at: new Date(created_at).toISOString(),
    })),
    attachments: files.map(({ isLeft, ...file }) => ({
      ...file,
      url: isLeft ? `${door.url}/files/${file.file_id}` : null,
    })),
    instructions: [agent.instructions, given?.instructions].filter(Boolean).join('\n\n') || null,
    model: agent.model,
    temperature: agent.temperature,
    output: output ? { schema: output.schema } : null,
    unfit: unfitOf(rounds.at(-1)),
    tools: toolbox.definitions.filter(({ name }) => !isHostStep(name) && !toolbox.handed.has(name)),
    steps: doneIn(rounds),
    said: left.response,
    deadline: new Date(until).toISOString(),
    steps_url: `${door.url}/steps`,
    steps_token: door.token,
  }
  return JSON.stringify(body)
}

/** What was wrong with the answer before, if it does not fit the output. */
function unfitOf(last: Round | undefined): { answer: string; problem: string } | null {
  return last?.told === undefined ? null : { answer: last.text ?? '', problem: last.told }
}

/** A file with its bytes in base64. `isLeft`: they are there and too many. Else, without them, it is gone since the run began. */
type FilledAttachment = Attachment & { data: string | null; isLeft: boolean }

/** The files of a message with their bytes, as far as these are not too many. */
export async function filled(
  attachments: readonly Attachment[],
  { files }: Pick<RunInProgress, 'files'>,
): Promise<FilledAttachment[]> {
  let room = MOST_FILE_BYTES
  const shown: FilledAttachment[] = []
  for (const attachment of attachments) {
    const { file_id, name, media_type, size } = attachment
    const named = { file_id, name, media_type, size }
    const file = await files.find(file_id)
    if (!file || size > room) {
      shown.push({ ...named, data: null, isLeft: file !== undefined })
      continue
    }
    room -= size
    const pieces: Uint8Array[] = []
    if (size > 0) for await (const piece of file.read({ start: 0, end: size - 1 })) pieces.push(piece)
    shown.push({ ...named, data: Buffer.concat(pieces).toString('base64'), isLeft: false })
  }
  return shown
}
