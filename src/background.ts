import * as answers from './answers/store.ts'
import { removeEndedApplications } from './applications/end-application.ts'
import { removeAllExpiredTokens } from './applications/store.ts'
import { removeOldEntries } from './audit/chain.ts'
import * as counters from './budgets/desk/counter-store.ts'
import { tendCounters } from './budgets/desk/tend-counters.ts'
import * as grants from './connections/grants/grant-store.ts'
import * as links from './connections/links/link-store.ts'
import * as consoleSessions from './console/store.ts'
import { sweptFiles } from './files/sweep-files.ts'
import * as incoming from './incoming/store.ts'
import {
  removeApprovals,
  removeApprovalsOfMissingAgents,
  removeApprovalsOfProjects,
} from './invocations/approvals/approval-store.ts'
import { forgetRolledBack } from './invocations/effects/forget-rolled-back.ts'
import { RunQueue } from './invocations/queue/run-queue.ts'
import { LEASED_RUNS } from './invocations/rows/invocation-rows.ts'
import * as invocations from './invocations/store.ts'
import { stopCancelled, stopUnwanted, takeUpRuns } from './invocations/tend-runs.ts'
import { judgeRollouts } from './judge/judge-rollouts.ts'
import * as logs from './logs/store.ts'
import { embedMemories } from './memory/embedding/embed-memories.ts'
import { extractFacts } from './memory/facts/extract-facts.ts'
import { indexMemories } from './memory/index-memories.ts'
import { keepSummaries } from './memory/summaries/keep-summaries.ts'
import * as memory from './memory/upkeep-store.ts'
import * as metrics from './metrics/store.ts'
import type { Parts } from './operation/parts.ts'
import * as invitations from './people/invitations/invitation-store.ts'
import { endForsakenRoles, endStaleRoles } from './people/roles.ts'
import * as people from './people/store.ts'
import { LEASED_CASES } from './replays/running/case-queue.ts'
import { ReplayRunner } from './replays/running/replay-runner.ts'
import * as replays from './replays/store.ts'
import * as schedules from './schedules/store.ts'
import { Ticker } from './schedules/ticker.ts'
import { measureProjects } from './service/measure-projects.ts'
import { measureStoreSizes } from './service/store-sizes.ts'
import { announce, type Database } from './storage/database.ts'
import type { JobHandler } from './storage/jobs/job-handler.ts'
import * as jobs from './storage/jobs/jobs.ts'
import { type Jobs, openJobs } from './storage/jobs/run-jobs.ts'
import { type Sweepable, sweep } from './storage/jobs/sweep.ts'
import * as claims from './storage/leases/claims.ts'
import { endLeases } from './storage/leases/lease.ts'
import { removeAbandoned } from './transfer/discard-import.ts'
import { isImporting } from './transfer/import-state.ts'
import { LEASED_ANSWERS } from './triggers/channels/answer-queue.ts'
import * as usage from './usage/store.ts'
import { removeOfMissingRuns } from './webhooks/callback-store.ts'
import { LEASED_DELIVERIES } from './webhooks/delivery/delivery-queue.ts'
import * as deliveries from './webhooks/delivery/delivery-store.ts'
import * as listeners from './webhooks/listen/listener-store.ts'

const HOUR_MS = 3_600_000
/** How long an administrator has to give a role to a person who has signed in. */
const STRANGERS_KEPT_MS = 7 * 24 * HOUR_MS
/** Months are the longest periods. */
const COUNTERS_KEPT_MS = 400 * 24 * HOUR_MS
/** How often a node searches the store for work that dead nodes left behind. */
const SEARCH_MS = 10_000

export type Background = {
  jobs: Jobs
  close(): Promise<void>
}

/** Everything that a node does without a request. */
export function startBackground(parts: Parts): Background {
  const { errands, nodes, pauses, spending, storage } = parts
  const running = openJobs(parts, jobHandlers(parts))
  const queue = new RunQueue(parts)
  const replaying = new ReplayRunner(parts)
  const ticker = new Ticker(parts)
  ticker.wake()
  storage.onChange((change, id) => {
    if (change === 'agents') {
      errands.begin("stopping a paused agent's runs", async () => {
        await stopUnwanted(parts, id)
        await queue.wakePaused(id)
      })
    }
    if (change === 'pauses') {
      stopPaused()
      queue.survey()
    }
    // A run may be waiting for the budget that has changed.
    if (change === 'budgets') queue.survey()
    if (change === 'cancellations') errands.begin('stopping cancelled runs', () => stopCancelled(parts, id))
  })
  const stopPaused = () => errands.begin('stopping runs of paused projects', () => pauses.check())
  const search = () => {
    stopPaused()
    // In case the database was away when a pause or a cancellation was announced.
    errands.begin('stopping runs of paused agents, and cancelled runs', async () => {
      await stopUnwanted(parts, undefined)
      await stopCancelled(parts, undefined)
    })
    errands.begin('taking over runs that no node works on', async () => {
      await takeUpRuns(parts)
      queue.survey()
    })
    errands.begin('counting what failed nodes have spent', () => tendCounters(parts, () => spending.heldLines()))
  }
  search()
  const searching = setInterval(search, SEARCH_MS)
  nodes.onDeath(async (node) => {
    await endLeasesOf(node, parts)
    search()
  })

  return {
    jobs: {
      ...running,
      wake() {
        running.wake()
        ticker.wake()
        replaying.survey()
        search()
      },
    },
    async close() {
      clearInterval(searching)
      await Promise.all([ticker.close(), running.close(), queue.close(), replaying.close()])
    },
  }
}

/**
 * Frees what the last service of a SQLite store had locked when it died: there is one at a time, and this is the next.
 * On PostgreSQL other nodes notice its death.
 */
export async function freeLeases(parts: Pick<Parts, 'log' | 'now' | 'storage' | 'telemetry'>): Promise<void> {
  if (parts.storage.engine !== 'sqlite') return
  try {
    await endLeasesOf('service:', parts)
  } catch (err) {
    parts.log.warn({ err }, 'unfinished work of the last process is taken over when its leases expire')
  }
}

/** Other nodes are notified of work. Runs are counted and reported one by one when they are taken up. */
async function endLeasesOf(
  node: string,
  { storage, now, telemetry }: Pick<Parts, 'storage' | 'now' | 'telemetry'>,
): Promise<void> {
  const ended = await storage.transaction(async (db) => {
    const job = await endLeases(db, jobs.LEASED_JOBS, node, now())
    await endLeases(db, LEASED_RUNS, node, now())
    await endLeases(db, LEASED_CASES, node, now())
    await endLeases(db, usage.LEASED_LINES, node, now())
    const delivery = await endLeases(db, LEASED_DELIVERIES, node, now())
    await endLeases(db, claims.CLAIMS, node, now())
    await endLeases(db, grants.LEASED_GRANTS, node, now())
    await endLeases(db, LEASED_ANSWERS, node, now())
    await announce(db, 'answers')
    await announce(db, 'jobs')
    await announce(db, 'replays')
    await announce(db, 'deliveries')
    return { job, delivery }
  })
  for (const [kind, count] of Object.entries(ended)) telemetry.takeovers.add(count, kind)
}

/** Roles from groups end when their provider is removed, or wasn't asked about the person for `keepRoles`. */
function staleRoles({ audit, config, newId, storage, now }: Parts): Sweepable[] {
  const { oidc } = config.console
  const occasion = () => ({ audit, request_id: newId('req', now()), address: null, now: now() })
  const names = oidc.map(({ name }) => name)
  return [
    {
      name: 'roles granted by removed identity providers',
      keep_ms: 0,
      remove: () => storage.transaction((db) => endForsakenRoles(db, names, occasion())),
    },
    ...oidc.map(({ name, keepRoles }) => ({
      name: `roles granted by ${name}`,
      keep_ms: keepRoles,
      remove: (_db: Database, before: number) =>
        storage.transaction((db) => endStaleRoles(db, `group:${name}`, before, occasion())),
    })),
  ]
}

function jobHandlers(parts: Parts): Record<string, JobHandler> {
  const { retention } = parts.config
  const old: Sweepable[] = [
    // Before anything old is removed: a recent sum is a part of one that may go and of one that stays.
    { name: 'recent metrics, now summed', keep_ms: 0, remove: inTransaction(parts, metrics.rollUp) },
    { name: 'recent usage, now summed', keep_ms: 0, remove: inTransaction(parts, usage.rollUp) },
    { name: 'logs', keep_ms: retention.logs, remove: logs.remove },
    { name: 'metrics', keep_ms: retention.metrics, remove: metrics.remove },
    { name: 'invocations', keep_ms: retention.invocations, remove: invocations.remove },
    { name: 'approvals', keep_ms: retention.invocations, remove: removeApprovals },
    { name: 'deliveries', keep_ms: retention.deliveries, remove: deliveries.removeOlder },
    { name: 'deliveries of triggers', keep_ms: retention.deliveries, remove: incoming.removeOlder },
    { name: 'answers of triggers', keep_ms: retention.deliveries, remove: answers.removeOlder },
    { name: 'replays', keep_ms: retention.invocations, remove: inTransaction(parts, replays.removeFinished) },
    { name: 'logs of projects', keep_ms: 0, remove: logs.removeOfProjects },
    { name: 'invocations of projects', keep_ms: 0, remove: invocations.removeOfProjects },
    { name: 'approvals of projects', keep_ms: 0, remove: removeApprovalsOfProjects },
    { name: 'deliveries of projects', keep_ms: 0, remove: deliveries.removeOfProjects },
    { name: 'deliveries of triggers of projects', keep_ms: 0, remove: incoming.removeOfProjects },
    { name: 'replays of projects', keep_ms: 0, remove: inTransaction(parts, replays.removeFinishedOfProjects) },
    { name: 'answers of triggers of projects', keep_ms: 0, remove: answers.removeOfProjects },
    { name: 'memories of projects', keep_ms: 0, remove: inTransaction(parts, memory.removeOfProjects) },
    { name: 'callbacks of removed runs', keep_ms: 0, remove: removeOfMissingRuns },
    { name: 'listeners', keep_ms: 0, remove: listeners.removeExpired },
    { name: 'console sessions', keep_ms: 0, remove: consoleSessions.removeExpired },
    ...staleRoles(parts),
    { name: 'invitations', keep_ms: STRANGERS_KEPT_MS, remove: invitations.removeEnded },
    { name: 'people who never had a role', keep_ms: STRANGERS_KEPT_MS, remove: people.removeStrangers },
    { name: 'usage', keep_ms: retention.usage, remove: usage.remove },
    { name: 'budget counters', keep_ms: COUNTERS_KEPT_MS, remove: counters.removeOld },
    {
      name: 'audit log',
      keep_ms: retention.audit,
      remove: (_db, before, limit) => removeOldEntries(parts, before, limit),
    },
    { name: 'unconfirmed sign-ins', keep_ms: 0, remove: grants.removeUnconfirmed },
    { name: 'tokens of connected applications', keep_ms: 0, remove: removeAllExpiredTokens },
    { name: 'connected applications', keep_ms: 0, remove: inTransaction(parts, removeEndedApplications) },
    { name: 'sign-in links', keep_ms: 0, remove: links.removeExpired },
    { name: 'memories', keep_ms: 0, remove: inTransaction(parts, memory.removeExpired) },
    { name: 'idempotency keys', keep_ms: 0, remove: claims.removeExpired },
  ]
  const ofDeletedAgents: Sweepable[] = [
    { name: 'logs of deleted agents', remove: logs.removeOfMissingAgents },
    { name: 'metrics of deleted agents', remove: metrics.removeOfMissingAgents },
    { name: 'memories of deleted agents', remove: memory.removeOfMissingAgents },
    { name: 'invocations of deleted agents', remove: invocations.removeOfMissingAgents },
    { name: 'approvals of deleted agents', remove: removeApprovalsOfMissingAgents },
    { name: 'sets and replays of deleted agents', remove: replays.removeOfMissingAgents },
    { name: 'deliveries of deleted webhooks', remove: deliveries.removeOrphans },
    { name: 'deliveries of deleted triggers', remove: incoming.removeOrphans },
    { name: 'answers of deleted triggers', remove: answers.removeOrphans },
    { name: 'usage of imports that were given up', remove: removeAbandoned },
    { name: 'memories of deployments that were rolled back', remove: forgetRolledBack },
  ].map(({ name, remove }) => ({
    name,
    keep_ms: 0,
    remove: inTransaction(parts, (db, now, limit) => remove(db, limit, now)),
  }))
  const ofFiles = sweptFiles(parts, schedules.removeFiles)
  const swept = { ...parts, isHeld: () => isImporting(parts.storage.db, parts.now()) }

  return {
    ...(parts.embedder && { embeddings: embedMemories(parts.embedder, parts) }),
    'memory index': indexMemories(parts),
    facts: extractFacts(parts),
    'project sizes': measureProjects(parts),
    rollouts: judgeRollouts(parts),
    'store sizes': measureStoreSizes(parts),
    summaries: keepSummaries(parts),
    /** Queued with every deletion of an agent or a webhook. */
    purge: sweep(swept, [...ofDeletedAgents, ...ofFiles]),
    /** Queued when files are removed. */
    'file bytes': { ...sweep(swept, ofFiles), atStart: true },
    /** It also removes what an invocation wrote after its agent was deleted. */
    retention: { ...sweep(swept, [...old, ...ofDeletedAgents, ...ofFiles]), every_ms: HOUR_MS },
  }
}

/** For rows whose counts must be changed in the same transaction. */
function inTransaction({ storage }: Pick<Parts, 'storage'>, remove: Sweepable['remove']): Sweepable['remove'] {
  return (_db, before, limit) => storage.transaction((db) => remove(db, before, limit))
}
