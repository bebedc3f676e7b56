import { z } from 'zod'
import { ToolSecret } from '../security/tool-secret.ts'
import { Time } from '../shapes.ts'

const MAX_VALUE = 8_192
const MAX_HOSTS = 100

export const SecretParams = z.strictObject({ name: z.string() })

export const SetSecretBody = z
  .strictObject({
    value: ToolSecret.shape.value.max(MAX_VALUE).describe('The secret value, never returned'),
    hosts: ToolSecret.shape.hosts
      .max(MAX_HOSTS)
      .describe('Hosts that it can be sent to: `api.example.com` on any port, `api.example.com:8443` on that one'),
  })
  .meta({ id: 'SetSecret' })

export const SecretReply = z
  .object({
    name: z.string(),
    hosts: z.array(z.string()),
    overridden: z.boolean().describe('A secret with this name is also in `moorage.yaml`, which is used instead'),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: 'Secret' })

/** A secret as it is stored: encrypted. */
export type StoredSecret = {
  project_id: string
  name: string
  value: string
  hosts: string[]
  created_at: number
  updated_at: number
}

/** Project and name are part of the purpose, so that a value copied to another row cannot be opened there. */
export function purposeOf({ project_id, name }: Pick<StoredSecret, 'project_id' | 'name'>): string {
  return `secret:${project_id}:${name}`
}

export function presentSecret(
  { name, hosts, created_at, updated_at }: Omit<StoredSecret, 'project_id' | 'value'>,
  configured: Readonly<Record<string, unknown>>,
): z.input<typeof SecretReply> {
  return { name, hosts, overridden: Object.hasOwn(configured, name), created_at, updated_at }
}
