import { z } from 'zod'
import { SecretText } from './security-settings.ts'

export const SECRET_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

/** A secret that tools use as `{{secret.NAME}}`. The same rules apply to the configuration and the API. */
export const ToolSecret = z.strictObject({
  // The value is sent in a header. Anything that a header can't contain is refused now, instead of when a tool is
  // called.
  value: SecretText.regex(
    /^[\x20-\x7e\xa0-\xff]*$/,
    'must be a valid HTTP header value: Latin letters, no line breaks',
  ).describe('The secret value'),
  hosts: z
    .array(
      z
        .string()
        .max(260)
        .regex(/^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/, 'must be a lowercase host name such as api.example.com'),
    )
    .min(1)
    .describe('Hosts that it can be sent to'),
})
