import type { Invocation } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { servedBy } from '../../lib/agents/served-by.ts'
import { href } from '../../lib/base.ts'
import { attachedTo } from '../../lib/files/shown-file.ts'
import { go } from '../../lib/location.ts'
import { agentPath, requestPath } from '../../lib/paths.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { countText, durationText } from '../../lib/text/format.ts'
import type { Params } from '../../routes.ts'
import { RunWaits } from '../../ui/approvals/run-waits.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton, Snippet } from '../../ui/copy.tsx'
import { BudgetLink } from '../../ui/data/budget-link.tsx'
import { Cost } from '../../ui/data/cost.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Status } from '../../ui/data/status.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { AnswerShown, UnfitAnswer } from '../../ui/data/value-tree.tsx'
import { Who } from '../../ui/data/who.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { GivenFeedback } from '../../ui/feedback/given-feedback.tsx'
import { Attachments } from '../../ui/files/attachments.tsx'
import { Page } from '../../ui/page.tsx'
import { Steps } from '../../ui/steps/steps.tsx'
import { AnswerSwitch } from '../../ui/text/answer-text.tsx'
import { CalledRuns, hasCalled } from './called-runs.tsx'
import { Effects } from './effects.tsx'
import { Neighbours } from './neighbours.tsx'
import { RequestLog } from './request-log.tsx'

const LIVE_MS = 1_500

export function RequestPage({ params: { request: request_id = '' } }: { params: Params }) {
  const find = async (signal: AbortSignal) => {
    const { data } = await service.invocations.listAll({ request_id, limit: 1 }, { signal })
    return data[0] ?? null
  }
  const found = useResource(`request ${request_id}`, find, {
    everyMs: (run) => (run?.finished_at === null ? LIVE_MS : undefined),
  })
  const run = found.data
  if (run === null) {
    return (
      <Page title="Request" crumbs={[{ label: 'Activity', to: '/activity' }]}>
        <Empty title="Request not found">
          <p>
            <code>{request_id}</code> doesn't exist, or its receipt was deleted by retention.
          </p>
        </Empty>
      </Page>
    )
  }
  return (
    <Page
      title={request_id}
      crumbs={[{ label: 'Activity', to: '/activity' }]}
      about={
        <>
          <CopyButton text={request_id} label="Copy the ID" />
          {run && <Status value={run.status} isLive={run.status === 'running'} />}
        </>
      }
      actions={
        <>
          {run && <Deeds run={run} />}
          <Neighbours request_id={request_id} />
        </>
      }
      {...(run && {
        api: {
          operation: 'getInvocation' as const,
          method: 'invocations.get',
          params: { agent_id: run.agent_id, request_id },
        },
      })}
    >
      <Failure error={found.error} retry={found.reload} />
      {run && <Request run={run} onChanged={found.reload} />}
    </Page>
  )
}

function Deeds({ run }: { run: Invocation }) {
  const { agent_id, request_id, status, message, attachments, context, environment } = run
  const isOver = ['completed', 'failed', 'cancelled'].includes(status)
  const again = useAction(async () => {
    // Lists leave out which form the request wanted for its answer.
    const { output_wanted } = await service.invocations.get(agent_id, request_id)
    const begun = await service.agents.start(agent_id, {
      message,
      ...attachedTo(attachments),
      context,
      environment,
      ...(output_wanted && { output: output_wanted }),
    })
    go(requestPath(begun.request_id))
  })
  const cancel = useAction(async () => {
    await service.invocations.cancel(agent_id, request_id)
  })
  return (
    <>
      <Failure error={again.error ?? cancel.error} />
      {isOver && may('invokeAgent') && (
        <Button icon="retry" doing={again}>
          Run again
        </Button>
      )}
      {!isOver && may('cancelInvocation') && (
        <Button look="danger" icon="stop" doing={cancel}>
          Cancel
        </Button>
      )}
    </>
  )
}

function Request({ run, onChanged }: { run: Invocation; onChanged(): void }) {
  const names = useAgentNames()
  const isOver = run.finished_at !== null
  const name = names.data?.get(run.agent_id) ?? run.agent_id
  const { user_id, session_id, ...rest } = run.context
  return (
    <>
      <Facts
        of={{
          Agent: <a href={href(agentPath(name))}>{name}</a>,
          'Served by': servedBy(run),
          Channel: run.door,
          When: <Ago time={run.created_at} />,
          Duration: durationText(run.duration_ms),
          Attempts: run.attempts.length > 1 ? countText(run.attempts.length) : undefined,
          Tokens: `${countText(run.usage.input_tokens)} in, ${countText(run.usage.output_tokens)} out`,
          Cost: <RunCost run={run} />,
          User: typeof user_id === 'string' ? user_id : undefined,
          Session:
            typeof session_id === 'string' ? (
              <a href={href(`${agentPath(name)}?session=${encodeURIComponent(session_id)}`)}>{session_id}</a>
            ) : undefined,
          'Started by': <Who id={run.created_by} name={run.created_by_name} />,
          'Called by':
            run.parent_request_id === null ? undefined : (
              <a href={href(requestPath(run.parent_request_id))}>{run.parent_request_id}</a>
            ),
        }}
      />
      <div class="request">
        <section>
          <h2>Message</h2>
          <p class="text">{run.message}</p>
          <Attachments files={run.attachments} />
          {Object.keys(rest).length > 0 && <Snippet label="context" text={JSON.stringify(rest, null, 2)} />}
          <h2 class="with-tools">Response {run.response && <AnswerSwitch />}</h2>
          {run.error && (
            <p class="failure">
              <span>
                <code>{run.error.code}</code> {run.error.message} <BudgetLink details={run.error.details} />
              </span>
            </p>
          )}
          <UnfitAnswer run={run} />
          {run.response !== null && <AnswerShown run={run} text={run.response} />}
          {run.status === 'waiting' && <RunWaits run={run} agentName={name} onDecided={onChanged} />}
          {run.response === null && !run.error && run.status !== 'waiting' && (
            <p class="soft">{isOver ? 'No response.' : (run.queue?.message ?? 'The run is still in progress.')}</p>
          )}
          {isOver && <GivenFeedback run={run} onGiven={onChanged} />}
        </section>
        <section>
          <h2>Steps</h2>
          <Steps run={run} />
          {hasCalled(run) && <CalledRuns run={run} names={names.data} />}
          <h2>Log</h2>
          <RequestLog run={run} agent={name} />
          {isOver && may('getEffects') && <Effects run={run} />}
        </section>
      </div>
    </>
  )
}

/** The run's cost, with a link to each of its model calls. */
function RunCost({ run: { agent_id, request_id, cost_usd, created_at, finished_at } }: { run: Invocation }) {
  if (!may('getUsage')) return <Cost usd={cost_usd} />
  const to = new Date(Date.parse(finished_at ?? new Date().toISOString()) + 1).toISOString()
  const query = new URLSearchParams({ agent_id, request_id, from: created_at, to })
  return (
    <a href={href(`/usage?${query}`)}>
      <Cost usd={cost_usd} />
    </a>
  )
}
