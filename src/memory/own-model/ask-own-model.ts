import type { ModelAgent } from '../../agents/agent.ts'
import type { Parts } from '../../operation/parts.ts'
import { type Purpose, spenderOf } from '../../operation/spending.ts'
import { Cancellation } from '../../runtime/deadline.ts'
import type { RunOutcome } from '../../runtime/run-outcome.ts'

/** What the model has to do, and the user whose memory it is for. */
type OwnWork = { purpose: Purpose; user_id: string | null; instructions: string; message: string }

/** Asks an agent's own model to work on its memory, with other instructions and without the agent's tools. */
export async function askOwnModel(
  { runtime, spending, newId, now }: Pick<Parts, 'runtime' | 'spending' | 'newId' | 'now'>,
  agent: ModelAgent,
  { purpose, user_id, instructions, message }: OwnWork,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const cancellation = new Cancellation()
  const cancel = () => cancellation.cancel()
  signal.addEventListener('abort', cancel)
  const { project_id, id: agent_id, seq: agent_seq } = agent
  const meter = spending.meter(spenderOf({ project_id, agent_id, agent_seq, purpose, user_id }))
  const outcome = await runtime.run({
    request_id: newId('req', now()),
    attempt: 1,
    meter,
    project_id,
    agent_id,
    created_by: agent_id,
    agent: { ...agent, instructions, tools: [], temperature: null, output: null },
    message,
    context: {},
    history: [],
    recalled: [],
    cancellation,
  })
  signal.removeEventListener('abort', cancel)
  await meter.flush()
  return outcome
}
