import type { MoorageError } from '../../../sdk/client.ts'
import { reasonOf } from '../../ui/failure.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import { MAIL_PROVIDERS } from './schemes.ts'

type Values = Record<'address' | 'provider' | 'api_key' | 'authserv_id', string>

type Props = {
  values: Values
  field(name: keyof Values, path: string): { value: string; error: string | undefined; onInput(value: string): void }
  onChange(changes: Partial<Values>): void
  /** The names of the project's secrets. */
  secrets: string[] | undefined
  error: MoorageError | undefined
}

/** The address of an email trigger, and the provider that sends its answers. */
export function EmailFields({ values, field, onChange, secrets, error }: Props) {
  const { host } = MAIL_PROVIDERS.find(({ value }) => value === values.provider) ?? MAIL_PROVIDERS[0]
  return (
    <>
      <div class="columns">
        <Field
          label="Address"
          hint="People write to it, and answers are sent from it"
          isRequired
          {...field('address', 'email.address')}
        />
        <Select
          label="Provider"
          value={values.provider}
          error={reasonOf(error, 'email.provider')}
          choices={MAIL_PROVIDERS.map(({ value, label }) => ({ value, label }))}
          onChange={(provider) => onChange({ provider })}
        />
      </div>
      <Field
        label="API key"
        hint={`The name of a secret with the host ${host}. It contains the provider's API key`}
        isMono
        isRequired
        suggestions={secrets}
        {...field('api_key', 'email.api_key')}
      />
      <Field
        label="Trusted mail server"
        hint="The mail server whose Authentication-Results header proves the sender. If empty, no sender is proven, and each sender has a different user_id in each thread."
        isMono
        {...field('authserv_id', 'email.authserv_id')}
      />
    </>
  )
}
