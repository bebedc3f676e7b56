import type { Approval, Client, InvocationEvent, InvocationResult } from '../../../../sdk/client.ts'
import { waitingText } from '../../../../sdk/waiting.ts'
import { type Common, sameWay } from '../../connect/connect.ts'
import { addressOf } from '../../connect/service-address.ts'
import { EXIT, Failure } from '../../failure.ts'
import { note } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

export type WaitingEvent = Extract<InvocationEvent<InvocationResult>, { type: 'waiting' }>

/** Says what the run waits for, and what people are asked. */
export function tellWaiting(world: World, waiting: WaitingEvent): void {
  note(world, waitingText(waiting))
  for (const { tool, arguments: given, connection } of waiting.approvals ?? []) {
    note(world, `  ${tool} ${JSON.stringify(given)}`)
    if (connection?.url) note(world, `  Sign in to ${connection.name}: ${connection.url}`)
  }
}

/** Ends a command whose run waits: with its own exit code, and with the commands that help. */
export async function endWaiting(
  world: World,
  client: Client,
  { agent, waiting, options }: { agent: string; waiting: WaitingEvent; options: Common },
): Promise<Failure> {
  const { request_id, reason } = waiting
  const { data } = await client.approvals.list({ request_id, status: 'pending', limit: 100 })
  const reasons = new Set(data.flatMap(({ not_for_you }) => not_for_you ?? []))
  const commands = data.map((approval) => {
    const words = decisionOf(approval, data.length > 1)
    return approval.not_for_you === null ? sameWay(options, words) : withOtherKey(world, options, words)
  })
  const then = `${sameWay(options, `invocations follow ${agent} ${request_id}`)}   # prints the answer`
  return new Failure(
    EXIT.waiting,
    `${request_id} has no answer yet. ${waitingText({ approvals: data, reason })}`,
    [...reasons, ...commands, then].map((line) => `  ${line}`).join('\n'),
  )
}

function decisionOf({ kind, request_id, call_id, connection, user_id }: Approval, areMany: boolean): string {
  if (connection?.link_id) {
    const user = user_id === null ? '' : ` --user-id ${user_id}`
    return `connections confirm-link ${connection.name} ${connection.link_id}${user}`
  }
  const call = areMany ? ` --call ${call_id}` : ''
  return kind === 'question' ? `approvals answer ${request_id}${call} "…"` : `approvals approve ${request_id}${call}`
}

/** The same command for another person. The environment names the service, because a login would use its own key. */
function withOtherKey(world: World, options: Common, words: string): string {
  const project = options.project ? ` --project ${options.project}` : ''
  return `MOORAGE_URL=${addressOf(world, options).url} MOORAGE_API_KEY='another key' moorage ${words}${project}`
}
