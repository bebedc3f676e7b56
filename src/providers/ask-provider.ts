import { notFound } from '../errors.ts'
import type { Needs } from '../operation/context.ts'
import { keyNamed, spenderOf } from '../operation/spending.ts'
import { DEFAULT_EXPIRY_SECONDS } from '../runtime/approvals/approval-policy.ts'
import { Cancellation } from '../runtime/deadline.ts'
import { ModelFailure } from '../runtime/models/model.ts'
import { Limits } from '../runtime/spec.ts'

/** The provider's own list of models, or the reason why it has no list. */
export async function askForModels(
  name: string,
  { actor, runtime }: Needs<'actor' | 'runtime'>,
): Promise<{ ids: string[]; error: string | null }> {
  try {
    const ids = await runtime.listModels(actor.scope.project_id, name)
    if (!ids) throw notFound('Provider', name)
    return { ids, error: null }
  } catch (error) {
    if (error instanceof ModelFailure) return { ids: [], error: error.message }
    throw error
  }
}

const PROBE = 'Answer with the word ok.'
const PROBE_TOKENS = 16
const PROBE_TIMEOUT_MS = 30_000

export type ProbeNeeds = Needs<'actor' | 'door' | 'runtime' | 'spending' | 'request_id' | 'onHangUp'>

/** Has a model answer one short message. Returns why it did not, or null. */
export async function askModel(
  model: string,
  { actor, door, runtime, spending, request_id, onHangUp }: ProbeNeeds,
): Promise<string | null> {
  const cancellation = new Cancellation()
  onHangUp?.(() => cancellation.cancel())
  const { project_id, user_id } = actor.scope
  const by = { project_id, user_id, key_id: keyNamed(actor.id), person_id: actor.person_id ?? null }
  const meter = spending.meter(spenderOf({ ...by, request_id, purpose: 'test', door }))
  const outcome = await runtime.run({
    request_id,
    attempt: 1,
    meter,
    project_id,
    agent_id: 'test',
    created_by: actor.id,
    agent: {
      kind: 'model',
      model,
      temperature: null,
      instructions: null,
      tools: [],
      script: null,
      output: null,
      memory: { history: 0, recall: 0 },
      limits: { ...Limits.parse({}), timeout_ms: PROBE_TIMEOUT_MS, max_steps: 1, max_output_tokens: PROBE_TOKENS },
      approvals: { expires_after_seconds: DEFAULT_EXPIRY_SECONDS },
    },
    message: PROBE,
    context: {},
    history: [],
    recalled: [],
    cancellation,
  })
  await meter.flush()
  if (outcome.status === 'completed') return null
  return outcome.status === 'failed' ? outcome.message : 'The test was cancelled.'
}
