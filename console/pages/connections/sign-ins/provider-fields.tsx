import { useState } from 'preact/hooks'
import { Field, type FieldProps } from '../../../ui/forms/field.tsx'
import type { ConnectionValues } from './connection-values.ts'

type Given = Pick<FieldProps, 'value' | 'onInput' | 'error'>

type Props = {
  field(of: Exclude<keyof ConnectionValues, 'kind' | 'as'>): Given
  /** Whether it publishes its metadata. */
  hasIssuer: boolean
  secret: Given
  /** Whether the service has a client secret. */
  isStored: boolean
}

/** An OAuth 2.0 provider, and the client that it knows. */
export function ProviderFields({ field, hasIssuer, secret, isStored }: Props) {
  const [isPublished, setPublished] = useState(hasIssuer)
  const choose = () => {
    field('issuer').onInput('')
    setPublished(!isPublished)
  }
  return (
    <>
      {isPublished ? (
        <Field
          label="Issuer URL"
          type="url"
          placeholder="https://accounts.example.com"
          hint="The service gets the provider's other URLs from there."
          isMono
          isRequired
          hasFocus
          {...field('issuer')}
        />
      ) : (
        <>
          <Field label="Authorization URL" type="url" isMono isRequired {...field('authorize_url')} />
          <Field label="Token URL" type="url" isMono isRequired {...field('token_url')} />
          <Field
            label="Revocation URL"
            type="url"
            hint="Leave empty if the provider has none."
            isMono
            {...field('revoke_url')}
          />
        </>
      )}
      <label class="check">
        <input type="checkbox" checked={!isPublished} onChange={choose} />
        The provider publishes no metadata. Enter its URLs.
      </label>
      <Field label="Client ID" isMono isRequired {...field('client_id')} />
      <Field
        label="Client secret"
        type="password"
        autoComplete="off"
        placeholder={isStored ? 'stored' : ''}
        hint={
          isStored
            ? 'A secret is stored. Leave empty to keep it.'
            : 'Stored encrypted and never shown again. Leave empty if the client has none.'
        }
        {...secret}
      />
      <Field
        label="Hosts"
        placeholder="calendar.example.com"
        hint="Comma-separated. Tokens are sent only to these hosts."
        isMono
        isRequired
        {...field('hosts')}
      />
    </>
  )
}
