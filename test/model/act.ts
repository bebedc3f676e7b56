import type { Plan } from './world.ts'

type Common = {
  /** The name of the key that asks. */
  by: string
  project: string
  /** Its Idempotency-Key. */
  once?: string
  /** Its process died while its tool was called. */
  isInterrupted?: true
}

export type Invoke = Common & {
  do: 'invoke'
  agent: string
  /** Names the run: no other message has it. */
  message: string
  plan: Plan
  user: string | null
  session: string | null
  environment: string
  how: 'plain' | 'stream' | 'background' | 'openai'
}

/** The lists that a key can read. */
export const LISTS = ['agents', 'invocations', 'approvals', 'files', 'webhooks', 'budgets', 'keys'] as const

/** Something that a client asks for. Things are named by what the client calls them, never by ids of the service. */
export type Act =
  | (Common & { do: 'create agent'; agent: string; persona: string; remember: boolean; history: number })
  | (Common & { do: 'update agent'; agent: string; persona: string })
  | (Common & { do: 'pause agent' | 'resume agent' | 'delete agent'; agent: string })
  | (Common & { do: 'deploy'; agent: string; environment: string; version: string })
  | (Common & { do: 'roll back'; agent: string; environment: string })
  | (Common & { do: 'create key'; key: string; role: Role; agent: string | null })
  | (Common & { do: 'revoke key'; key: string })
  | Invoke
  | (Common & { do: 'cancel' | 'erase run'; agent: string; message: string })
  | (Common & { do: 'decide'; agent: string; message: string; decision: 'approve' | 'reject' })
  | (Common & { do: 'write memory'; agent: string; about: string; user: string | null; session: string | null })
  | (Common & { do: 'forget'; agent: string; user: string | null; session: string | null })
  | (Common & { do: 'create schedule'; agent: string; schedule: string; message: string; every: number })
  | (Common & { do: 'delete schedule'; agent: string; schedule: string })
  | (Common & {
      do: 'create budget'
      budget: string
      agent: string | null
      kind: 'runs' | 'tokens'
      amount: number
      action: 'refuse' | 'notify'
    })
  | (Common & { do: 'delete budget'; budget: string })
  | (Common & { do: 'create webhook'; webhook: string; agent: string | null; events: string[] })
  | (Common & { do: 'enable webhook' | 'disable webhook' | 'delete webhook'; webhook: string })
  | (Common & { do: 'upload'; file: string; content: string; user: string | null })
  | (Common & { do: 'delete file'; file: string })
  | (Common & { do: 'erase user'; user: string })
  | (Common & { do: 'list'; what: (typeof LISTS)[number]; agent: string })

/** The roles of docs/team.md, and two sets of permissions that no role has. */
export type Role = 'admin' | 'developer' | 'viewer' | 'caller' | 'approver' | 'deleter' | 'manager'
