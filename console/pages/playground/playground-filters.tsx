import { useTypedParam } from '../../lib/forms/use-typed-param.ts'
import { param, setParams } from '../../lib/location.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import type { choicesOf } from './serving-choices.ts'

/** The agent, the user and the conversation to talk to. */
export type PlaygroundTarget = {
  environment: string
  /** Another environment that gets the same messages, shown next to the first. */
  beside: string | undefined
  user: string | undefined
  session: string | undefined
}

export function askedInUrl(): PlaygroundTarget {
  return {
    environment: param('environment') ?? 'production',
    beside: param('beside'),
    user: param('user'),
    session: param('session'),
  }
}

/** Makes the next message start a new session. */
export function leaveSession(): void {
  setParams({ session: undefined }, { push: true })
}

type Props = PlaygroundTarget & { choices: ReturnType<typeof choicesOf> }

export function PlaygroundFilters({ environment, beside, user, session, choices }: Props) {
  return (
    <div class="filters">
      <Select
        label="Environment"
        value={environment}
        choices={choices}
        onChange={(value) => setParams({ environment: value === 'production' ? undefined : value })}
        isBare
      />
      <Select
        label="Compare with"
        value={beside ?? ''}
        choices={[{ value: '', label: 'compare with …' }, ...choices]}
        onChange={(value) => setParams({ beside: value })}
        isBare
      />
      <Field
        label="User"
        value={user ?? ''}
        placeholder="user ID"
        onInput={(value) => setParams({ user: value })}
        isBare
      />
      <SessionField />
      <Button icon="plus" label="New session" onClick={leaveSession} disabled={!session} />
    </div>
  )
}

const TYPED_MS = 500

/** Waits until the typing pauses, because each ID is another conversation. */
function SessionField() {
  const [text, setText, write] = useTypedParam('session', TYPED_MS)
  return <Field label="Session" value={text} placeholder="new session" onInput={setText} onBlur={write} isBare isMono />
}
