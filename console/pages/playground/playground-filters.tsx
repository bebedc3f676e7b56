import { param, setParams } from '../../lib/location.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import type { choicesOf } from './serving-choices.ts'

/** Who is asked, for whom, and in which conversation. */
export type PlaygroundAsked = {
  environment: string
  /** Another environment that is asked the same, beside the first. */
  beside: string | undefined
  user: string | undefined
  session: string | undefined
}

export function askedInUrl(): PlaygroundAsked {
  return {
    environment: param('environment') ?? 'production',
    beside: param('beside'),
    user: param('user'),
    session: param('session'),
  }
}

type Props = PlaygroundAsked & { choices: ReturnType<typeof choicesOf>; onNewSession(): void }

export function PlaygroundFilters({ environment, beside, user, session, choices, onNewSession }: Props) {
  return (
    <div class="filters">
      <Select
        label="Served by"
        value={environment}
        choices={choices}
        onChange={(value) => setParams({ environment: value === 'production' ? undefined : value })}
        isBare
      />
      <Select
        label="Beside it"
        value={beside ?? ''}
        choices={[{ value: '', label: 'compare with …' }, ...choices]}
        onChange={(value) => setParams({ beside: value })}
        isBare
      />
      <Field
        label="User"
        value={user ?? ''}
        placeholder="user id"
        onInput={(value) => setParams({ user: value })}
        isBare
      />
      <Field
        label="Session"
        value={session ?? ''}
        placeholder="new session"
        onInput={(value) => setParams({ session: value })}
        isBare
        isMono
      />
      <Button icon="plus" label="New session" onClick={() => onNewSession()} disabled={!session} />
    </div>
  )
}
