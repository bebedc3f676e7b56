import { type OpenApi, type OperationObject, operationsOf } from '../src/http/reference/openapi-document.ts'

/** The group of methods for each noun. The first noun in an operation's ID decides. */
const GROUPS: readonly [noun: RegExp, group: string][] = [
  [/Console/, 'console'],
  [/Person(alKeys?)?|People/, 'people'],
  [/Invitations?/, 'invitations'],
  [/Feedback/, 'feedback'],
  [/Triggers?/, 'triggers'],
  [/Replays?/, 'replays'],
  [/Sets?$/, 'sets'],
  [/ConnectedApplications?/, 'applications'],
  [/Connections?|Grants?/, 'connections'],
  [/Links?$/, 'links'],
  [/Files?/, 'files'],
  [/Webhook|deliver/i, 'webhooks'],
  [/Invocations?|Prompt|Effects|Steps/, 'invocations'],
  [/Approvals?/, 'approvals'],
  [/Callbacks?/, 'callbacks'],
  [/Deployments?/, 'deployments'],
  [/Schedules?/, 'schedules'],
  [/Logs$/, 'logs'],
  [/Metrics|Performance/, 'metrics'],
  [/Usage/, 'usage'],
  [/Prices?/, 'prices'],
  [/Memory|Summary/, 'memory'],
  [/Users?|Sessions/, 'users'],
  [/Listener/, 'listeners'],
  [/Keys?|Self|Invocable/, 'keys'],
  [/Factor/, 'mfa'],
  [/Projects?/, 'projects'],
  [/Pause/, 'pauses'],
  [/Secrets?/, 'secrets'],
  [/Providers?/, 'providers'],
  [/Budgets?/, 'budgets'],
  [/Audit(Log)?/, 'audit'],
  [/System/, 'system'],
  [/Telemetry/, 'telemetry'],
  [/Agents?|Overview|Tool|Remote/, 'agents'],
]

/** What a group's methods leave out of an operation's id, because the group says it. */
const OWN: Record<string, RegExp> = {
  webhooks: /Webhooks?/,
  invocations: /Invocations?/,
  metrics: /Metrics/,
  usage: /Usage/,
  memory: /Memory/,
  users: /Users?/,
  keys: /Keys?/,
  people: /Person(?!al)|People/,
  connections: /Connections?/,
  invitations: /Invitations?/,
  triggers: /Triggers?/,
  agents: /Agents?/,
}

/** Written by hand in sdk/client.ts: they answer with a stream as well, or send and answer bytes. */
const BY_HAND = new Set(['invokeAgent', 'streamInvocation', 'createFile', 'getFileContent', 'getRunFile'])

const RENAMED: Record<string, string> = {
  listAllInvocations: 'listAll',
  listInvocable: 'agents',
  getFeedback: 'get',
  listTriggerDeliveries: 'deliveries',
  getTriggerDelivery: 'delivery',
  replayTriggerDelivery: 'replay',
}

/** Makes sdk/methods.ts from the OpenAPI document: one method for each operation. */
export function renderSdkMethods(document: Pick<OpenApi, 'paths'>): string {
  const operations = operationsOf(document).filter(({ operationId }) => !BY_HAND.has(operationId))
  const groups = Map.groupBy(operations, ({ operationId }) => groupOf(operationId).name)
  return [
    '// Made from the OpenAPI document by `npm run sdk:types`; not to be edited.',
    "import type { Body, Caller, ListQuery } from './call.ts'",
    "import type { RequestOptions } from './request.ts'",
    '',
    'export function methods({ call, list, lines }: Caller) {',
    '  return {',
    ...[...groups].flatMap(([name, members]) => [`    ${name}: {`, ...members.flatMap(method), '    },']),
    '  }',
    '}',
    '',
  ].join('\n')
}

/** The method of an operation in the SDK, and so the command: `createAgent` is `agents.create`. */
export function placeOf(operation: OperationObject): { group: string; name: string; isList: boolean } {
  const { operationId: id, responses } = operation
  const content = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {}
  const isList = content['application/json']?.schema.properties?.pagination !== undefined
  return { group: groupOf(id).name, name: nameOf(id, isList), isList }
}

function groupOf(id: string): { name: string; own: RegExp } {
  const [noun, name] = GROUPS.find(([pattern]) => pattern.test(id)) ?? []
  if (!noun || !name) throw new Error(`The operation ${id} has no group: add one in scripts/render-sdk-methods.ts`)
  return { name, own: OWN[name] ?? noun }
}

/** `createAgent` is `agents.create`, `getPrompt` is `invocations.prompt`, and a `get` that gives pages is `list`. */
function nameOf(id: string, isList: boolean): string {
  const rest = id.replace(groupOf(id).own, '')
  const noun = /^(?:get|list)(\w+)$/.exec(rest)?.[1]
  const name = noun ? noun.charAt(0).toLowerCase() + noun.slice(1) : rest
  return RENAMED[id] ?? (name === 'get' && isList ? 'list' : name)
}

function method(operation: OperationObject): string[] {
  const { operationId: id, summary, description, parameters, requestBody, responses } = operation
  const { name: own, isList } = placeOf(operation)
  const content = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {}
  const sends = content['application/x-ndjson'] ? 'lines' : isList ? 'list' : 'call'
  const params = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const takes = [
    ...params.map((name) => `${name}: string`),
    ...(requestBody ? [`body: Body<'${id}'>${requestBody.required ? '' : ' = {}'}`] : []),
    ...(query.length > 0 ? [`query${query.some(({ required }) => required) ? '' : '?'}: ListQuery<'${id}'>`] : []),
    'o?: RequestOptions',
  ]
  const input = [
    ...(params.length > 0 ? [`params: { ${params.join(', ')} }`] : []),
    ...(requestBody ? ['body'] : []),
    ...(query.length > 0 ? ['query'] : []),
  ]
  const given = input.length > 0 ? `{ ${input.join(', ')} }` : '{}'
  return [
    `      /** ${description ? `${summary}. ${description.replaceAll('*/', '* /')}` : summary} */`,
    `      ${own}: (${takes.join(', ')}) => ${sends}('${id}', ${given}, o),`,
  ]
}
