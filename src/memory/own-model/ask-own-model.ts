import type { ModelAgent } from '../../agents/agent.ts'
import type { Parts } from '../../operation/parts.ts'
import { Cancellation } from '../../runtime/deadline.ts'
import type { RunOutcome } from '../../runtime/run-outcome.ts'

/** Asks an agent's own model for work on its memory, with other instructions and without the agent's tools. */
export async function askOwnModel(
  { runtime, telemetry, newId, now }: Pick<Parts, 'runtime' | 'telemetry' | 'newId' | 'now'>,
  agent: ModelAgent,
  { instructions, message }: { instructions: string; message: string },
  signal: AbortSignal,
): Promise<RunOutcome> {
  const cancellation = new Cancellation()
  const cancel = () => cancellation.cancel()
  signal.addEventListener('abort', cancel)
  const outcome = await runtime.run({
    request_id: newId('req', now()),
    attempt: 1,
    project_id: agent.project_id,
    agent_id: agent.id,
    agent: { ...agent, instructions, tools: [], temperature: null },
    message,
    context: {},
    history: [],
    recalled: [],
    cancellation,
  })
  signal.removeEventListener('abort', cancel)
  telemetry.tokens.add(outcome.usage.input_tokens, 'in')
  telemetry.tokens.add(outcome.usage.output_tokens, 'out')
  return outcome
}
