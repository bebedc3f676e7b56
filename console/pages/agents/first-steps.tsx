import { useEffect } from 'preact/hooks'
import type { OperationId } from '../../../sdk/call.ts'
import { href } from '../../lib/base.ts'
import { agentPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import type { OverviewPage } from './attention.tsx'

/** The first start of a service creates this agent and one key. */
const DEMO_AGENT = 'hello'
const KEYS_AT_FIRST = 1

const STORED = 'first-steps'
/** A page makes at most three requests when it is opened. What replaces the steps is loaded later. */
const LATER_MS = 2_000

const STEPS: OperationId[] = ['setProvider', 'createAgent', 'invokeAgent', 'createKey']

/** Whether this browser has already seen all steps done or dismissed the card, or the reader can't do any of them. */
export function hasDoneFirstSteps(): boolean {
  return localStorage.getItem(STORED) !== null || !STEPS.some(may)
}

/** Steps that the reader can't do aren't checked. */
const mayAll = (...operations: OperationId[]) => operations.every(may)

type Step = { title: string; about: string; action: string; to: string; needs: OperationId; isDone: boolean }

/** What a new service needs before it is useful. The card disappears when everything is done. */
export function FirstSteps({ agents, onOver }: { agents: OverviewPage; onOver(): void }) {
  const isInUse = agents.data.some(({ requests }) => requests > 0)
  // Someone who has no agent of their own hasn't tried it yet.
  const mayHaveRun = !isInUse && hasOwn(agents) && may('invokeAgent')
  const done = useResource(`first steps ${isInUse} ${mayHaveRun}`, async (signal) => {
    const none = { pagination: { total: 0 } }
    const [providers, keys, runs] = await Promise.all([
      mayAll('setProvider', 'listProviders') ? service.providers.list({ limit: 1 }, { signal }) : none,
      mayAll('createKey', 'listKeys') ? service.keys.list({ status: 'active', limit: 1 }, { signal }) : none,
      mayHaveRun ? service.invocations.listAll({ limit: 1 }, { signal }) : none,
    ])
    return {
      hasProvider: providers.pagination.total > 0,
      hasKey: keys.pagination.total > KEYS_AT_FIRST,
      hasRun: isInUse || runs.pagination.total > 0,
    }
  })
  const steps = done.data ? stepsOf(agents, done.data).filter(({ needs }) => may(needs)) : []
  const isOver = done.data !== undefined && steps.every(({ isDone }) => isDone)
  // If it can't be determined what is done, the steps aren't shown this time.
  const isUnknown = done.error !== undefined && done.data === undefined
  useEffect(() => {
    if (isUnknown) onOver()
    if (!isOver) return
    localStorage.setItem(STORED, 'done')
    const timer = setTimeout(onOver, LATER_MS)
    return () => clearTimeout(timer)
  }, [isOver, isUnknown])
  if (!done.data || isOver) return null
  const next = steps.find(({ isDone }) => !isDone)
  return (
    <section class="first-steps" aria-label="Get started">
      <header>
        <h2>Get started</h2>
        <Button
          look="quiet"
          icon="close"
          label="Dismiss"
          onClick={() => {
            localStorage.setItem(STORED, 'dismissed')
            onOver()
          }}
        />
      </header>
      <ol>
        {steps.map((step, i) => (
          <li key={step.title} class={step.isDone ? 'done' : ''}>
            <i>{step.isDone ? <Icon name="check" /> : i + 1}</i>
            <p>
              <b>
                {step.title}
                {step.isDone && <span class="hidden"> (done)</span>}
              </b>
              <span>{step.about}</span>
            </p>
            {!step.isDone && (
              <a class={step === next ? 'button main' : 'button plain'} href={href(step.to)}>
                {step.action}
              </a>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}

type StepsDone = { hasProvider: boolean; hasKey: boolean; hasRun: boolean }

const ownOf = ({ data }: OverviewPage) => data.find(({ name }) => name !== DEMO_AGENT)
const hasOwn = (agents: OverviewPage) => ownOf(agents) !== undefined || agents.pagination.total > 1

function stepsOf(agents: OverviewPage, { hasProvider, hasKey, hasRun }: StepsDone): Step[] {
  const own = ownOf(agents)
  return [
    {
      title: 'Connect a model',
      about: 'Add a model provider with its URL and API key.',
      action: 'Add provider',
      to: '/connections?open=new',
      needs: 'setProvider',
      isDone: hasProvider,
    },
    {
      title: 'Create an agent',
      about: 'Choose a model and write instructions.',
      action: 'Create agent',
      to: '/?open=agent',
      needs: 'createAgent',
      isDone: hasOwn(agents),
    },
    {
      title: 'Try it',
      about: 'Send a message in the playground.',
      action: 'Open playground',
      to: agentPath((own ?? agents.data[0])?.name ?? DEMO_AGENT),
      needs: 'invokeAgent',
      isDone: hasRun,
    },
    {
      title: 'Create a key',
      about: 'Call the agent from your own program.',
      action: 'Create key',
      to: '/keys?open=key',
      needs: 'createKey',
      isDone: hasKey,
    },
  ]
}
