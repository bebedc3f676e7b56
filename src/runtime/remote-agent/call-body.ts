import { wellFormedJson } from '../../lib/json.ts'
import { type Attachment, readFirst } from '../attachments/attachment.ts'
import type { Round } from '../models/model.ts'
import { wantedOutput } from '../models/model-request.ts'
import type { RunInProgress } from '../run-in-progress.ts'
import { doneIn } from './asked-step.ts'
import type { RemoteCallBody } from './contract.ts'
import { isHostStep } from './host-steps.ts'

/** The limit for all files in a call together. The agent downloads the others itself. */
const MOST_FILE_BYTES = 4 * 1024 * 1024

/** The run's URL, where the agent requests steps and reads files, and the token for it. */
export type RunAddress = { url: string; token: string }

/** When the call's time is over, and the files that aren't included. */
export type CallTime = { until: number; file_ids: readonly string[] }

export async function callBody(
  run: RunInProgress,
  rounds: readonly Round[],
  addressOf: (time: CallTime) => RunAddress,
): Promise<string> {
  const { request_id, attempt, input, left, toolbox, deadline, now } = run
  const { agent, message, context, history, summary, recalled, attachments = [], given } = input
  const output = wantedOutput(input)
  const files = await filled(attachments, run)
  const until = Math.ceil(now() + deadline.remaining())
  const file_ids = files.filter(({ missing }) => missing === 'too large').map(({ file_id }) => file_id)
  const { url, token } = addressOf({ until, file_ids })
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
    attachments: files.map(({ missing, ...file }) => ({
      ...file,
      url: missing === 'too large' ? `${url}/files/${file.file_id}` : null,
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
    steps_url: `${url}/steps`,
    steps_token: token,
  }
  return wellFormedJson(body)
}

/** What was wrong with the previous answer, if it didn't match the output schema. */
function unfitOf(last: Round | undefined): { answer: string; problem: string } | null {
  return last?.told === undefined ? null : { answer: last.text ?? '', problem: last.told }
}

/** A file with its bytes in base64, or the reason why they are missing: the file was deleted since the run began. */
type FilledAttachment = Attachment &
  ({ data: string; missing?: undefined } | { data: null; missing: 'too large' | 'gone' })

/** The files of a message with their bytes, up to the limit. */
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
      shown.push({ ...named, data: null, missing: file ? 'too large' : 'gone' })
      continue
    }
    room -= size
    const bytes = size > 0 ? await readFirst(file, size) : Buffer.alloc(0)
    shown.push({ ...named, data: bytes.toString('base64') })
  }
  return shown
}
