import { useState } from 'preact/hooks'
import type { Agent, Trigger } from '../../../sdk/client.ts'
import { go } from '../../lib/location.ts'
import { agentPath } from '../../lib/paths.ts'
import { type Resource, useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Id, Snippet } from '../../ui/copy.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { WhoIs } from '../../ui/data/who.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Failure } from '../../ui/failure.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { senderLabel, setUpOf, urlOf } from './schemes.ts'
import { TestDialog } from './test-dialog.tsx'
import { TriggerDeliveries } from './trigger-deliveries.tsx'
import { TriggerForm } from './trigger-form.tsx'
import { TriggerState } from './triggers-page.tsx'

/** One trigger: its URL and how to set up its sender, a test, and what it received. */
export function TriggerPage({ params: { agent = '', trigger = '' } }: { params: Params }) {
  return (
    <AgentFrame
      name={agent}
      tab="triggers"
      api={{ operation: 'getTrigger', method: 'triggers.get', params: { agent_id: agent, trigger_id: trigger } }}
    >
      {(loaded) => <OpenedTrigger agent={loaded} id={trigger} />}
    </AgentFrame>
  )
}

function OpenedTrigger({ agent, id }: { agent: Agent; id: string }) {
  const trigger = useResource(`trigger ${id}`, (signal) => service.triggers.get(agent.id, id, { signal }))
  const found = trigger.data
  return (
    <>
      <Failure error={trigger.error} retry={trigger.reload} />
      {found && <TriggerDetails agent={agent} trigger={found} of={trigger} />}
    </>
  )
}

type Opened = 'edit' | 'test' | 'delete'

function TriggerDetails({ agent, trigger, of }: { agent: Agent; trigger: Trigger; of: Resource<Trigger> }) {
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const toggle = useAction(async () => {
    await service.triggers.update(agent.id, trigger.id, { enabled: !trigger.enabled })
    toast(trigger.enabled ? 'Trigger disabled' : 'Trigger enabled')
    of.reload()
  })
  const remove = async () => {
    await service.triggers.delete(agent.id, trigger.id)
    toast('Trigger deleted')
    go(agentPath(agent.name, 'triggers'))
  }
  return (
    <>
      <div class="section-head">
        <h2>{trigger.name ?? 'Trigger'}</h2>
        <TriggerState {...trigger} />
        {may('testTrigger') && (
          <Button icon="play" onClick={() => setOpened('test')}>
            Test
          </Button>
        )}
        {may('updateTrigger') && (
          <>
            <Button icon="edit" onClick={() => setOpened('edit')}>
              Edit
            </Button>
            <Button icon={trigger.enabled ? 'pause' : 'play'} doing={toggle}>
              {trigger.enabled ? 'Disable' : 'Enable'}
            </Button>
          </>
        )}
        {may('deleteTrigger') && (
          <Button look="danger" onClick={() => setOpened('delete')}>
            Delete
          </Button>
        )}
      </div>
      <Failure error={toggle.error} />
      <Snippet label="URL" text={urlOf(trigger)} />
      <p class="hint">{setUpOf(trigger)}</p>
      <TriggerFacts trigger={trigger} />
      <h3>Message</h3>
      <Snippet label="message" text={trigger.message} />
      <TriggerDeliveries agent={agent} trigger={trigger} />
      {opened === 'edit' && <TriggerForm agent={agent} trigger={trigger} onClose={close} onSaved={() => of.reload()} />}
      {opened === 'test' && <TestDialog agent={agent} trigger={trigger} onClose={close} />}
      {opened === 'delete' && (
        <Confirm title="Delete trigger" action="Delete trigger" work={remove} onClose={close} isDanger>
          <p>Its URL returns 404 from then on, and its deliveries are deleted. Runs that it started continue.</p>
        </Confirm>
      )}
    </>
  )
}

function TriggerFacts({ trigger }: { trigger: Trigger }) {
  const bot = trigger.slack ?? trigger.telegram ?? undefined
  const email = trigger.email ?? undefined
  const { verify, filter, user_from, user_prefix, session_from, environment, updated_by, id } = trigger
  return (
    <Facts
      of={{
        Sender: senderLabel(trigger),
        Secret: verify.scheme === 'none' ? undefined : <code>{verify.secret}</code>,
        'Bot token': bot && <code>{bot.bot_token}</code>,
        Address: email?.address,
        Provider: email && `${email.provider} (${email.api_key})`,
        'Trusted mail server': email && (email.authserv_id ?? 'none'),
        Answers: (bot ?? email) && (trigger.reply === false ? 'not sent' : 'sent to the conversation'),
        User: user_from === null ? undefined : <code>{`${user_prefix}${user_from}`}</code>,
        Session: session_from === null ? undefined : <code>{session_from}</code>,
        Filter: filter.length === 0 ? undefined : <code>{JSON.stringify(filter)}</code>,
        Environment: environment,
        'Last changed by': <WhoIs id={updated_by} />,
        ID: <Id id={id} />,
      }}
    />
  )
}
