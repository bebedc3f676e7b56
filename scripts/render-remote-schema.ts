import { z } from 'zod'
import { AskSteps, StepsResult } from '../src/invocations/steps/take-steps.ts'
import { REMOTE_EVENTS, RemoteAnswer, RemoteCallBody } from '../src/runtime/remote-agent/contract.ts'

const DESCRIPTION =
  'docs/remote-protocol.md explains it. The service sends Call, and is answered with Answer, or with a stream of the events ' +
  '`delta` (Delta), `log` (Log), `usage` (Usage), `done` (Done) and `error` (Failure). The agent asks for steps with ' +
  'AskSteps, and the `data` of the reply is StepsResult.'

/** The contract of remote agents as one JSON Schema, out of the shapes with which the service reads and writes. */
export function renderRemoteSchema(): string {
  const shapes = [RemoteCallBody, RemoteAnswer, ...Object.values(REMOTE_EVENTS), AskSteps, StepsResult]
  const $defs: Record<string, unknown> = {}
  for (const shape of shapes) {
    // What either side sends may have more fields one day.
    const { $schema: _draft, $defs: parts, id, ...schema } = z.toJSONSchema(shape, { io: 'input' })
    for (const [name, { id: _id, ...part }] of Object.entries(parts ?? {})) $defs[name] = part
    // Without an id of its own it is one of its parts.
    if (id !== undefined) $defs[id] = schema
  }
  const title = 'The contract of remote agents'
  const document = { $schema: 'https://json-schema.org/draft/2020-12/schema', title, description: DESCRIPTION, $defs }
  return `${JSON.stringify(document, null, 2)}\n`
}
