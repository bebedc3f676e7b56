import type { Agent } from '../../agents/agent.ts'
import * as agents from '../../agents/store.ts'
import { isShown } from '../../answers/store.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { Approval } from '../../invocations/approvals/approval.ts'
import * as approvals from '../../invocations/approvals/approval-store.ts'
import { settleDecision } from '../../invocations/approvals/settle-decision.ts'
import { whyNotDecide } from '../../invocations/approvals/who-decides.ts'
import type { Invocation } from '../../invocations/invocation.ts'
import { statusOf } from '../../keys/key.ts'
import * as keys from '../../keys/store.ts'
import { isObject } from '../../lib/json.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Parts } from '../../operation/parts.ts'
import type { Permission } from '../../security/permissions.ts'
import type { Database } from '../../storage/database.ts'
import { prefixOf, type Trigger } from '../trigger.ts'
import { CHANNELS } from './call-platform.ts'
import type { ButtonPress, Channel, ChatButton } from './channel.ts'

/** Longer arguments are cut. The console shows them whole. */
const MOST_SHOWN = 1_500
const LONGEST_LABEL = 70
const MOST_OPTIONS = 10

/** The choice and the approval's ID, as a button contains them. */
const VALUE = /^(approve|reject|\d):(apr_[0-9A-Z]{26})$/

type ForDeciding = Pick<Parts, 'config' | 'now'>

/**
 * The key that started the run, with which the person who wrote the message decides. Undefined unless the agent allows
 * it with `approvals.self`, the key has the permission `approve`, and no one-time code is required.
 */
async function deciderOf(
  db: Database,
  approval: Approval,
  { config, now }: ForDeciding,
): Promise<{ actor: Actor; agent: Agent } | undefined> {
  const agent = await agents.findBySeq(db, approval.agent_seq)
  if (!agent) return undefined
  const needsCode = [config.security, agent.security].some(
    (security) => security?.mfa.enabled && security.mfa.requiredFor.includes('approve'),
  )
  const key = await keys.find(db, approval.started_by)
  if (needsCode || !key || statusOf(key, now()) !== 'active') return undefined
  const actor: Actor = {
    kind: 'key',
    id: key.id,
    scope: { project_id: agent.project_id, agent_id: agent.id, user_id: null },
    reach: 'project',
    permissions: key.permissions as readonly Permission[],
    tier: key.tier,
    expires_at: key.expires_at,
  }
  return (await whyNotDecide(db, actor, approval)) === undefined ? { actor, agent } : undefined
}

/** What is shown about a call, and what the person can choose. Undefined if it needs no decision any more. */
export async function askFor(
  db: Database,
  approval: Approval | undefined,
  channel: Pick<Channel, 'hasButtons'>,
  parts: ForDeciding,
): Promise<{ text: string; buttons: ChatButton[] | undefined } | undefined> {
  if (approval?.status !== 'pending') return undefined
  const { id, kind } = approval
  const mayDecide = (await deciderOf(db, approval, parts)) !== undefined
  const options = kind === 'question' ? optionsOf(approval) : []
  // The person answers with the next message.
  if (mayDecide && isAnsweredInWords(approval, channel))
    return { text: withOptions(approval, options), buttons: undefined }
  const choices: ChatButton[] =
    kind === 'question'
      ? options.map((label, i) => ({ label: label.slice(0, LONGEST_LABEL), value: `${i}:${id}` }))
      : [
          { label: 'Approve', value: `approve:${id}` },
          { label: 'Reject', value: `reject:${id}` },
        ]
  const hasButtons = mayDecide && channel.hasButtons && choices.length > 0
  const elsewhere = kind === 'question' ? 'This must be answered in Moorage.' : 'This must be decided in Moorage.'
  const text = hasButtons ? questionOf(approval) : `${questionOf(approval)}\n\n${elsewhere}`
  return { text, buttons: hasButtons ? choices : undefined }
}

/** Whether the next message in the conversation is the answer. */
function isAnsweredInWords(approval: Approval, { hasButtons }: Pick<Channel, 'hasButtons'>): boolean {
  return approval.kind === 'question' && !(hasButtons && optionsOf(approval).length > 0)
}

function withOptions(approval: Approval, options: readonly string[]): string {
  return [questionOf(approval), ...options.map((option) => `- ${option}`)].join('\n')
}

function questionOf({ kind, tool, arguments: given }: Approval): string {
  if (kind === 'question') return String(given['question'] ?? '').slice(0, MOST_SHOWN)
  const shown = JSON.stringify(given, null, 2).slice(0, MOST_SHOWN).replaceAll('```', "'''")
  const asked = kind === 'retry' ? `Call ${tool} again? It was interrupted.` : `Call ${tool}?`
  return `${asked}\n\`\`\`\n${shown}\n\`\`\``
}

function optionsOf({ arguments: given }: Approval): string[] {
  const { options } = given
  return Array.isArray(options)
    ? options.filter((one) => typeof one === 'string' && one !== '').slice(0, MOST_OPTIONS)
    : []
}

type PressedTrigger = { trigger: Trigger; project_id: string }

/**
 * Decides what a button asks. Only the person whose message started the run can. Returns what to show instead of the
 * buttons, or undefined if nothing was decided.
 */
export async function decidePress(
  { trigger, project_id }: PressedTrigger,
  { press, request_id: press_id }: { press: ButtonPress; request_id: string },
  parts: ForDeciding & Pick<Parts, 'audit' | 'storage'>,
): Promise<string | undefined> {
  const [, choice = '', id = ''] = VALUE.exec(press.value) ?? []
  const user_id = prefixOf(trigger) + press.user
  try {
    return await parts.storage.transaction(async (db) => {
      const asked = await agents.find(db, trigger.agent_id)
      const approval = asked && (await approvals.findById(db, asked.seq, id))
      const decider = approval && (await deciderOf(db, approval, parts))
      if (!decider) return undefined
      const answer = approval.kind === 'question' ? optionsOf(approval)[Number(choice)] : undefined
      if ((approval.kind === 'question') !== (answer !== undefined)) return undefined
      const decision =
        answer === undefined ? { decision: choice as 'approve' | 'reject' } : { decision: 'approve' as const, answer }
      await settle(db, { trigger, project_id }, { approval, decider, decision, user_id, request_id: press_id }, parts)
      return answer ?? (choice === 'approve' ? 'Approved' : 'Rejected')
    })
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

type Settling = {
  approval: Approval
  decider: { actor: Actor; agent: Agent }
  decision: { decision: 'approve' | 'reject'; answer?: string }
  user_id: string
  /** Of the request that contains the decision. */
  request_id: string
}

/** Throws an `ApiError` if the person can't decide, or if it is too late. */
async function settle(
  db: Database,
  { trigger, project_id }: PressedTrigger,
  { approval, decider, decision, user_id, request_id: by_request }: Settling,
  { audit, now }: Pick<Parts, 'audit' | 'now'>,
): Promise<void> {
  const { id, request_id, call_id } = approval
  const requireRun = (run: Invocation) => {
    if (!isOwn(run, trigger.id, user_id)) throw notFound('Invocation', request_id)
  }
  const decided = await settleDecision(db, { ...decider, request_id, call_id, decision, requireRun }, now())
  // The same call may have been asked about again, with another approval.
  if (decided.id !== id) throw notFound('Approval', call_id)
  await audit.record(db, {
    actor: decider.actor,
    action: 'decideApproval',
    project_id,
    agent_id: trigger.agent_id,
    target: id,
    request_id: by_request,
    address: null,
    fields: ['decision'],
    outcome: 'success',
  })
}

type WrittenAnswer = { text: string; user_id: string | null; session_id: string | null; request_id: string }

/** Longer messages aren't answers. */
const LONGEST_ANSWER = 20_000

/**
 * If a run of this conversation has asked the person who wrote a question without buttons, their message is the answer.
 * Returns the ID of that run. Undefined if there is none, and the message starts a run of its own.
 */
export async function answerQuestion(
  db: Database,
  { trigger, project_id }: PressedTrigger,
  { text, user_id, session_id, request_id }: WrittenAnswer,
  parts: ForDeciding & Pick<Parts, 'audit'>,
): Promise<string | undefined> {
  if (trigger.kind === 'webhook' || user_id === null || session_id === null || text.length > LONGEST_ANSWER) {
    return undefined
  }
  const agent = await agents.find(db, trigger.agent_id)
  if (!agent) return undefined
  for (const approval of await approvals.listPendingIn(db, { agent_seq: agent.seq, user_id, session_id })) {
    if (!isAnsweredInWords(approval, CHANNELS[trigger.kind]) || !(await isShown(db, approval))) continue
    const decider = await deciderOf(db, approval, parts)
    if (!decider) continue
    const decision = { decision: 'approve' as const, answer: text }
    try {
      await settle(db, { trigger, project_id }, { approval, decider, decision, user_id, request_id }, parts)
      return approval.request_id
    } catch (error) {
      // Another person has just decided it, or it belongs to another trigger.
      if (!(error instanceof ApiError)) throw error
    }
  }
  return undefined
}

/** Whether the run was started by this person's message to this trigger. */
function isOwn({ door, context }: Invocation, trigger_id: string, user_id: string): boolean {
  const { trigger } = context
  return door === 'trigger' && isObject(trigger) && trigger['id'] === trigger_id && context.user_id === user_id
}
