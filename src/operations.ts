import { checkRemote } from './agents/check-remote-agent.ts'
import { createAgent } from './agents/create-agent.ts'
import { getAgent } from './agents/get-agent.ts'
import { listAgents } from './agents/list-agents.ts'
import { listInvocable } from './agents/list-invocable.ts'
import { testTool } from './agents/tools/test-tool.ts'
import { updateAgent } from './agents/update-agent.ts'
import { applicationOperations } from './applications/application-operations.ts'
import { getAuditHead } from './audit/get-audit-head.ts'
import { listAuditLog } from './audit/list-audit-log.ts'
import { budgetOperations } from './budgets/budget-operations.ts'
import { connectionOperations } from './connections/connection-operations.ts'
import { createConsoleLink } from './console/create-link.ts'
import { endConsoleSession } from './console/end-console-session.ts'
import { listConsoleSessions } from './console/list-console-sessions.ts'
import { createDeployment } from './deployments/create-deployment.ts'
import { diffDeployment } from './deployments/diff-deployment.ts'
import { findDeployment } from './deployments/find-deployment.ts'
import { getDeployment } from './deployments/get-deployment.ts'
import { listDeployments } from './deployments/list-deployments.ts'
import { rollbackDeployment } from './deployments/rollback-deployment.ts'
import { rolloutOperations } from './deployments/rollouts/rollout-operations.ts'
import { createFile } from './files/create-file.ts'
import { deleteFile } from './files/delete-file.ts'
import { getFile } from './files/get-file.ts'
import { getFileContent } from './files/get-file-content.ts'
import { listFiles } from './files/list-files.ts'
import { deleteAgent } from './invocations/across/delete-agent.ts'
import { listAllInvocations } from './invocations/across/list-all-invocations.ts'
import { decideApproval } from './invocations/approvals/decide-approval.ts'
import { getApproval } from './invocations/approvals/get-approval.ts'
import { listApprovals } from './invocations/approvals/list-approvals.ts'
import { getRunFile } from './invocations/attachments/get-run-file.ts'
import { createCallback } from './invocations/callbacks/create-callback.ts'
import { deleteCallback } from './invocations/callbacks/delete-callback.ts'
import { getCallback } from './invocations/callbacks/get-callback.ts'
import { listCallbacks } from './invocations/callbacks/list-callbacks.ts'
import { cancelInvocation } from './invocations/cancel-invocation.ts'
import { getEffects } from './invocations/effects/get-effects.ts'
import { eraseInvocation } from './invocations/erase-invocation.ts'
import { deleteFeedback } from './invocations/feedback/delete-feedback.ts'
import { getFeedback } from './invocations/feedback/get-feedback.ts'
import { giveFeedback } from './invocations/feedback/give-feedback.ts'
import { listFeedback } from './invocations/feedback/list-feedback.ts'
import { streamInvocation } from './invocations/following/stream-invocation.ts'
import { getInvocation } from './invocations/get-invocation.ts'
import { invokeAgent } from './invocations/invoke-agent.ts'
import { listInvocations } from './invocations/list-invocations.ts'
import { getPrompt } from './invocations/prompt/get-prompt.ts'
import { takeSteps } from './invocations/steps/take-steps.ts'
import { createKey } from './keys/create-key.ts'
import { confirmFactor } from './keys/factors/confirm-factor.ts'
import { enrolFactor } from './keys/factors/enrol-factor.ts'
import { getFactor } from './keys/factors/get-factor.ts'
import { removeFactor } from './keys/factors/remove-factor.ts'
import { getKey } from './keys/get-key.ts'
import { getSelf } from './keys/get-self.ts'
import { listKeys } from './keys/list-keys.ts'
import { createPersonalKey } from './keys/personal/create-personal-key.ts'
import { listPersonalKeys } from './keys/personal/list-personal-keys.ts'
import { revokePersonalKey } from './keys/personal/revoke-personal-key.ts'
import { revokeKey } from './keys/revoke-key.ts'
import { rotateKey } from './keys/rotate-key.ts'
import { linkOperations } from './links/link-operations.ts'
import { getLogs } from './logs/get-logs.ts'
import { clearMemory } from './memory/clear-memory.ts'
import { deleteMemory } from './memory/delete-memory.ts'
import { getMemoryStatus } from './memory/embedding/get-memory-status.ts'
import { getMemory } from './memory/get-memory.ts'
import { listMemory } from './memory/list-memory.ts'
import { searchMemory } from './memory/search-memory.ts'
import { deleteSummary } from './memory/summaries/delete-summary.ts'
import { getSummary } from './memory/summaries/get-summary.ts'
import { replaceSummary } from './memory/summaries/replace-summary.ts'
import { updateMemory } from './memory/update-memory.ts'
import { writeMemory } from './memory/write-memory.ts'
import { getMetrics } from './metrics/get-metrics.ts'
import { getPerformance } from './metrics/get-performance.ts'
import type { Operation } from './operation.ts'
import { beginPause } from './pauses/begin-pause.ts'
import { endPause } from './pauses/end-pause.ts'
import { getPause } from './pauses/get-pause.ts'
import { deletePerson } from './people/delete-person.ts'
import { getPerson } from './people/get-person.ts'
import { createInvitation } from './people/invitations/create-invitation.ts'
import { getInvitation } from './people/invitations/get-invitation.ts'
import { listInvitations } from './people/invitations/list-invitations.ts'
import { revokeInvitation } from './people/invitations/revoke-invitation.ts'
import { listPeople } from './people/list-people.ts'
import { setPersonRole } from './people/set-role.ts'
import { createProject } from './projects/create-project.ts'
import { deleteProject } from './projects/delete-project.ts'
import { getProject } from './projects/get-project.ts'
import { listProjects } from './projects/list-projects.ts'
import { updateProject } from './projects/update-project.ts'
import { deleteProvider } from './providers/delete-provider.ts'
import { listProviderModels } from './providers/list-provider-models.ts'
import { listProviders } from './providers/list-providers.ts'
import { setProvider } from './providers/set-provider.ts'
import { testProvider } from './providers/test-provider.ts'
import { replayOperations } from './replays/replay-operations.ts'
import { createSchedule } from './schedules/create-schedule.ts'
import { deleteSchedule } from './schedules/delete-schedule.ts'
import { getSchedule } from './schedules/get-schedule.ts'
import { listSchedules } from './schedules/list-schedules.ts'
import { runSchedule } from './schedules/run-schedule.ts'
import { updateSchedule } from './schedules/update-schedule.ts'
import { secretOperations } from './secrets/secret-operations.ts'
import { getSystem } from './service/get-system.ts'
import { getTelemetry } from './service/get-telemetry.ts'
import { listOverview } from './service/list-overview.ts'
import { moveAgent } from './service/move-agent.ts'
import { repriceUsage } from './service/reprice-usage.ts'
import { setOperations } from './sets/set-operations.ts'
import { triggerOperations } from './triggers/trigger-operations.ts'
import { getUsage } from './usage/get-usage.ts'
import { deletePrice } from './usage/prices/delete-price.ts'
import { listPrices } from './usage/prices/list-prices.ts'
import { setPrice } from './usage/prices/set-price.ts'
import { eraseUser } from './users/erase-user.ts'
import { exportUser } from './users/export-user.ts'
import { listSessions } from './users/list-sessions.ts'
import { listUsers } from './users/list-users.ts'
import { createWebhook } from './webhooks/create-webhook.ts'
import { deleteWebhook } from './webhooks/delete-webhook.ts'
import { findDelivery } from './webhooks/delivery/reads/find-delivery.ts'
import { getDelivery } from './webhooks/delivery/reads/get-delivery.ts'
import { listDeliveries } from './webhooks/delivery/reads/list-deliveries.ts'
import { redeliver } from './webhooks/delivery/redeliver.ts'
import { getWebhook } from './webhooks/get-webhook.ts'
import { listWebhooks } from './webhooks/list-webhooks.ts'
import { createListener } from './webhooks/listen/create-listener.ts'
import { getListener } from './webhooks/listen/get-listener.ts'
import { rotateWebhookSecret } from './webhooks/rotate-secret.ts'
import { testWebhook } from './webhooks/test-webhook.ts'
import { updateWebhook } from './webhooks/update-webhook.ts'

/** The API, in the order of its documentation. */
export const operations: readonly Operation[] = [
  invokeAgent,
  listInvocations,
  getInvocation,
  streamInvocation,
  cancelInvocation,
  takeSteps,
  getRunFile,
  getPrompt,
  getEffects,
  listAllInvocations,
  listApprovals,
  getApproval,
  decideApproval,
  giveFeedback,
  getFeedback,
  deleteFeedback,
  listFeedback,
  eraseInvocation,
  createCallback,
  listCallbacks,
  getCallback,
  deleteCallback,

  createFile,
  listFiles,
  getFile,
  getFileContent,
  deleteFile,

  createAgent,
  listAgents,
  listOverview,
  listInvocable,
  getAgent,
  updateAgent,
  deleteAgent,
  testTool,
  checkRemote,

  createDeployment,
  listDeployments,
  getDeployment,
  findDeployment,
  diffDeployment,
  rollbackDeployment,
  ...rolloutOperations,

  ...setOperations,
  ...replayOperations,

  createSchedule,
  listSchedules,
  getSchedule,
  updateSchedule,
  deleteSchedule,
  runSchedule,
  ...triggerOperations,

  ...linkOperations,

  getLogs,
  getMetrics,
  getPerformance,
  getUsage,
  repriceUsage,
  listPrices,
  setPrice,
  deletePrice,
  searchMemory,
  writeMemory,
  listMemory,
  getMemory,
  updateMemory,
  deleteMemory,
  clearMemory,
  getMemoryStatus,
  listUsers,
  listSessions,
  replaceSummary,
  getSummary,
  deleteSummary,
  exportUser,
  eraseUser,

  createWebhook,
  listWebhooks,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  listDeliveries,
  getDelivery,
  findDelivery,
  redeliver,
  createListener,
  getListener,

  createKey,
  listKeys,
  getSelf,
  createPersonalKey,
  listPersonalKeys,
  revokePersonalKey,
  getKey,
  rotateKey,
  revokeKey,
  enrolFactor,
  confirmFactor,
  getFactor,
  removeFactor,

  createConsoleLink,
  listConsoleSessions,
  endConsoleSession,

  listPeople,
  getPerson,
  setPersonRole,
  deletePerson,
  createInvitation,
  listInvitations,
  getInvitation,
  revokeInvitation,

  createProject,
  listProjects,
  getProject,
  updateProject,
  deleteProject,
  moveAgent,

  beginPause,
  endPause,
  getPause,

  ...secretOperations,

  ...connectionOperations,

  ...applicationOperations,

  setProvider,
  listProviders,
  listProviderModels,
  testProvider,
  deleteProvider,

  ...budgetOperations,

  listAuditLog,
  getAuditHead,

  getSystem,
  getTelemetry,
]
