import { deleteSecret } from './delete-secret.ts'
import { listSecrets } from './list-secrets.ts'
import { setSecret } from './set-secret.ts'

export const secretOperations = [setSecret, listSecrets, deleteSecret] as const
