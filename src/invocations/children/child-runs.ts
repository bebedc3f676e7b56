import type { Agent } from '../../agents/agent.ts'
import { type AgentSnapshot, findSnapshotBySeq, findSnapshotIn, requireRunning } from '../../agents/agent-snapshot.ts'
import type { Definition } from '../../agents/definition.ts'
import { serving } from '../../deployments/serving.ts'
import { ApiError, SESSION_BUSY } from '../../errors.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import type { Parts } from '../../operation/parts.ts'
import { requireRoom } from '../../projects/project.ts'
import { Waits } from '../../runtime/run-in-progress.ts'
import type { RunTree } from '../../runtime/runner.ts'
import type { AgentTool } from '../../runtime/tools/called-agent.ts'
import { type CallResult, MAX_RESULT_BYTES, ToolError } from '../../runtime/tools/tool.ts'
import { rateOf } from '../../security/gate.ts'
import { type AgentSecurity, admitsCaller } from '../../security/security-settings.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { type Invocation, isFinal, newInvocation, turnOf } from '../invocation.ts'
import { CHILDREN } from '../queue/queue-store.ts'
import { insertion, insertionInLine } from '../rows/invocation-rows.ts'
import type { StartedRun } from '../steps/stored-run.ts'
import { cancelSession, isBusy } from '../turns/turn-store.ts'
import { findByCall, isBelow, listBelow, spentWithBelow } from './child-store.ts'

const MAX_DEPTH = 4

/** A called run may wait for a person this long. When it ends, it wakes this run earlier. */
const PATIENT_MS = 32 * 24 * 3_600_000

type BegunChild = { invocation: Invocation; agent: Agent; session_key: string | undefined }

type ChildParts = Pick<Parts, 'findProject' | 'limiter' | 'memo' | 'newId' | 'now' | 'pauses' | 'storage'>

type ChildRequest = Parameters<RunTree['askAgent']>[1]

/**
 * The runs that a run calls. The run waits for them as it waits for people: they are queued in the commit in which it
 * begins to wait. When they have ended, it continues and finds their answers.
 */
export class ChildRuns {
  readonly #started: StartedRun
  readonly #parts: ChildParts
  readonly #begun: BegunChild[] = []
  /** A called run has waited for something other than runs, so their shared time limit is dropped. */
  #isPatient = false

  constructor(started: StartedRun, parts: ChildParts) {
    this.#started = started
    this.#parts = parts
  }

  /** What this attempt shares with its caller and the runs it calls. */
  async tree(): Promise<RunTree> {
    const { invocation, agent } = this.#started
    const { id, attempt, deadline_at, parent_request_id, tree } = invocation
    if (attempt > 1 && deadline_at !== null) {
      const below = await listBelow(this.#parts.storage.db, id)
      this.#isPatient = below.some((run) => run.deadline_at === null)
    }
    return {
      isChild: parent_request_id !== null,
      deadline_at: this.#isPatient ? null : deadline_at,
      memory_of: tree ? tree.memory_of : agent.id,
      askAgent: (tool, asked) => this.#call(tool, asked),
    }
  }

  /** The runs to queue when this one begins to wait. */
  writes(): Write[] {
    return this.#begun.map(({ invocation, agent, session_key }) => {
      const start = { project_id: agent.project_id }
      if (session_key === undefined) return insertion(invocation, start)
      // If the turn is free, they get it right after the commit.
      return insertionInLine(invocation, { ...start, session_key })
    })
  }

  /** The sessions in which they take turns. */
  sessions(): string[] {
    return this.#begun.flatMap(({ session_key }) => session_key ?? [])
  }

  /** The queues in which they wait for their turn. */
  lanes(): string[] {
    return this.#begun.map(({ agent }) => laneKey(agent.project_id, agent.seq))
  }

  /** When this run's time is over, if it spends the rest of it waiting for the runs that it called. */
  deadlineOf({ until, waits_for }: { until: number; waits_for: string | undefined }): number | null {
    return waits_for === CHILDREN && !this.#isPatient ? until : null
  }

  async #call(tool: AgentTool, asked: ChildRequest): Promise<CallResult> {
    const { db } = this.#parts.storage
    const found = await findByCall(db, { parent_request_id: this.#started.invocation.id, call_key: asked.key })
    if (found && isFinal(found)) return this.#resultOf(found, tool)
    if (!found) this.#begun.push(await this.#prepare(tool, asked))
    const until = this.#isPatient ? this.#parts.now() + PATIENT_MS : asked.deadline_at
    throw new Waits(until, { waits_for: CHILDREN })
  }

  async #resultOf(ended: Invocation, tool: AgentTool): Promise<CallResult> {
    const agent = (await findSnapshotBySeq(ended.agent_seq, this.#parts))?.agent
    const name = agent?.name ?? tool.agent
    const child = { request_id: ended.id, agent_id: agent?.id ?? '', agent: name }
    const below = await spentWithBelow(this.#parts.storage.db, ended)
    const begun = { child, below, began_at: ended.created_at }
    const { status, response, error } = ended
    if (status === 'cancelled') return { error: `The run of agent ${name} was cancelled.`, ...begun }
    if (status !== 'completed') return { error: `Agent ${name} failed: ${error?.message ?? ''}`, ...begun }
    const result = response ?? ''
    if (Buffer.byteLength(result) <= MAX_RESULT_BYTES) return { result, ...begun }
    return { error: `Agent ${name} answered with more than ${MAX_RESULT_BYTES / 1024} KiB.`, ...begun }
  }

  /** Prepares the run to queue. It has the same owner as this one. */
  async #prepare(tool: AgentTool, asked: ChildRequest): Promise<BegunChild> {
    const { newId, now } = this.#parts
    const { invocation: parent, agent: caller } = this.#started
    const { depth, memory_of } = parent.tree ?? { depth: 0, memory_of: caller.id }
    if (depth >= MAX_DEPTH) {
      throw new ToolError(
        `Agent ${tool.agent} was not called, because agents can call each other at most ${MAX_DEPTH} levels deep.`,
      )
    }
    const snapshot = await this.#findAgent(tool)
    const { agent } = snapshot
    const { message, key: call_key, traceparent, deadline_at } = asked
    const { context, on_budget, door, created_by, person_id, authors } = parent
    const request_id = newId('req', now())
    const sender = { user_id: context.user_id, session_id: context.session_id, request_id }
    const served = await serving(snapshot, tool.environment, sender, this.#parts)
    const begun = newInvocation({ message, context, environment: tool.environment, on_budget }, agent, served, {
      actor: { id: created_by, ...(person_id !== null && { person_id }) },
      door,
      mode: 'background',
      now,
      repeatable: undefined,
      request_id,
    })
    const memories = { own: agent.id, none: null, shared: memory_of }
    const tree = { depth: depth + 1, memory_of: memories[tool.memory], traceparent }
    const session_key = await this.#takeTurn(begun, served.definition)
    const invocation = { ...begun, authors, parent_request_id: parent.id, call_key, tree, deadline_at }
    return { invocation, agent, session_key }
  }

  /**
   * The session in which the called run takes its turn, if it needs one. It doesn't if its agent is already in the
   * chain of callers, because the two runs would wait for each other, or if this run has already called the same agent.
   */
  async #takeTurn(begun: Invocation, definition: Definition): Promise<string | undefined> {
    const key = turnOf(begun, definition)
    if (key === undefined) return undefined
    const { agent_seq } = begun
    const { agent, invocation } = this.#started
    if (agent_seq === agent.seq || this.#begun.some((other) => other.agent.seq === agent_seq)) return undefined
    const { storage, now } = this.#parts
    const { parent_request_id } = invocation
    if (parent_request_id !== null && (await isBelow(storage.db, parent_request_id, agent_seq))) return undefined
    const { while_busy } = definition.sessions
    if (while_busy === 'reject' && (await isBusy(storage.db, key))) throw new ToolError(SESSION_BUSY.message)
    if (while_busy === 'cancel') await storage.transaction((db) => cancelSession(db, key, now()))
    return key
  }

  async #findAgent({ agent: ref }: AgentTool): Promise<AgentSnapshot> {
    const { project_id } = this.#started.agent
    const { limiter } = this.#parts
    const snapshot = await findSnapshotIn(project_id, ref, this.#parts)
    if (!snapshot) throw new ToolError(`There is no agent "${ref}" in this project.`)
    const { agent, project } = snapshot
    try {
      requireRunning(agent, project.pause)
      requireRoom(project)
    } catch (error) {
      throw error instanceof ApiError ? new ToolError(error.message) : error
    }
    if (agent.security) await enterAgent(agent, agent.security, this.#started.agent, limiter)
    return snapshot
  }
}

/** The agent's `security` also applies when another agent calls it. */
async function enterAgent(
  { id, name }: Agent,
  own: AgentSecurity,
  caller: Agent,
  limiter: ChildParts['limiter'],
): Promise<void> {
  if (!admitsCaller(own, caller)) {
    throw new ToolError(
      `Agent ${name} can't be called by agent ${caller.name}. To allow it, add ${caller.name} to security.callers of ${name}.`,
    )
  }
  if (!own.rateLimit.enabled) return
  const rate = rateOf(own.rateLimit)
  const { allowed, retry_after_ms } = await limiter.take(`agent:${id}`, rate)
  if (allowed) return
  const seconds = Math.max(1, Math.ceil(retry_after_ms / 1000))
  throw new ToolError(
    `Agent ${name} allows ${rate.limit} requests from all callers together (security.rateLimit). Try again in ${seconds} s.`,
  )
}
