import { z } from 'zod'
import { invalid } from '../../../errors.ts'
import type { AttachmentInput } from '../../../runtime/attachments/attachment.ts'
import type { GivenInput, Sampling, ToolChoice } from '../../../runtime/given.ts'
import type { ToolDefinition } from '../../../runtime/models/model.ts'
import { ANY_OBJECT } from '../../../runtime/output/wanted-output.ts'

export const MAX_TOOLS = 128

/** An agent's name or ID, optionally followed by `@` and an environment. */
const ModelName = z.string().min(1).max(200)

export function readModel(model: string): { agent: string; environment?: string } {
  const at = model.indexOf('@')
  return at < 0 ? { agent: model } : { agent: model.slice(0, at), environment: model.slice(at + 1) }
}

/** The parameters that both kinds of requests have. Other parameters don't change the answer and are ignored. */
export const COMMON = {
  model: ModelName,
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  user: z.string().max(256).nullish(),
  safety_identifier: z.string().max(256).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
}

type Common = z.output<z.ZodObject<typeof COMMON>>

/** Returns the agent of a request and the body of our own call. */
export function callOf(
  request: Common,
  asked: { message: string; output?: object },
  session_id = request.metadata?.['session_id'],
) {
  const { agent, environment } = readModel(request.model)
  // Clients that have no user send an empty one.
  const context = present({ user_id: request.user || request.safety_identifier || undefined, session_id })
  return { agent, body: { ...asked, context, ...(environment !== undefined && { environment }) } }
}

/** Refuses unsupported parameters that would change the answer. Ignoring them would lead to a wrong answer. */
export function refuseUnsupported(body: Record<string, unknown>, unsupported: Record<string, Harmless>): void {
  for (const [field, isHarmless] of Object.entries(unsupported)) {
    const value = body[field]
    if (value === undefined || value === null || isHarmless(value)) continue
    throw invalid({ field, error: 'is not supported by this service' })
  }
}

/**
 * Refuses tools other than functions, because only functions can be handed to the caller. Tools of other types have
 * other fields, so their type is checked first.
 */
export function refuseOtherTools(sent: unknown): void {
  const { tools } = Object(sent) as { tools?: unknown }
  if (!Array.isArray(tools)) return
  for (const [i, tool] of tools.slice(0, MAX_TOOLS).entries()) {
    const { type } = Object(tool) as { type?: unknown }
    if (typeof type !== 'string' || type === 'function') continue
    const error = `${JSON.stringify(type.slice(0, 100))} is not supported by this service; use tools of type "function"`
    throw invalid({ field: `tools.${i}.type`, error })
  }
}

type Harmless = (value: unknown) => boolean

export const NEVER: Harmless = () => false
export const ONLY = (...values: unknown[]): Harmless => {
  return (value) => values.some((one) => JSON.stringify(one) === JSON.stringify(value))
}

/** Removes null values. OpenAI's clients send null for anything that isn't set. */
export function present<T extends Record<string, unknown>>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> }
}

/** Undefined if the caller sends only its message. */
export function givenOf(values: { [K in keyof GivenInput]?: GivenInput[K] | undefined }): GivenInput | undefined {
  const given = present(values)
  return Object.keys(given).length === 0 ? undefined : (given as GivenInput)
}

export function samplingOf(values: { [K in keyof Sampling]?: Sampling[K] | null | undefined }): Sampling | undefined {
  const sampling = present(values)
  return Object.keys(sampling).length === 0 ? undefined : (sampling as Sampling)
}

export const JsonSchemaFormat = z.looseObject({
  name: z.string().max(128).optional(),
  description: z.string().nullish(),
  schema: z.record(z.string(), z.unknown()).optional(),
})

type AnswerFormat = { type: 'text' | 'json_object' } | ({ type: 'json_schema' } & z.output<typeof JsonSchemaFormat>)

/**
 * The form of the answer as our own call has it. Text needs no setting, because the agent may answer with JSON anyway.
 */
export function outputOf(format: AnswerFormat | null | undefined): { output?: { schema: Record<string, unknown> } } {
  if (format?.type === 'json_object') return { output: { schema: ANY_OBJECT } }
  if (format?.type !== 'json_schema') return {}
  const { name: title, description, schema = ANY_OBJECT } = format
  return { output: { schema: { ...present({ title, description }), ...schema } } }
}

export const FunctionShape = z.looseObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ and -'),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
})

export function toolOf({ name, description, parameters, strict }: z.output<typeof FunctionShape>): ToolDefinition {
  const input_schema = parameters ?? { type: 'object', properties: {} }
  return { name, description: description ?? '', input_schema, ...(strict && { strict }) }
}

export const Effort = z.string().regex(/^[a-z]{1,20}$/, 'must be a word such as low, medium or high')

export function checkTools(tools: readonly ToolDefinition[]): ToolDefinition[] | undefined {
  if (tools.length === 0) return undefined
  const names = tools.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw invalid({ field: 'tools', error: `contains the name ${twice} twice` })
  return [...tools]
}

/** The tool choice, left out for the default `auto`. */
export function choiceOf(
  choice: 'auto' | 'none' | 'required' | { name: string } | null | undefined,
): ToolChoice | undefined {
  return choice === 'auto' || choice === null ? undefined : choice
}

/** The texts of a message. Any other kind of content is refused by its name. */
export function textOfParts(content: unknown, field: string): string {
  if (typeof content === 'string') return content
  if (content === null || content === undefined) return ''
  if (!Array.isArray(content)) throw invalid({ field, error: 'must be a string or a list of parts' })
  return content
    .map((part: { type?: unknown; text?: unknown; refusal?: unknown } | null, i) => {
      const text = part?.type === 'refusal' ? part.refusal : part?.text
      if (typeof text === 'string' && TEXT_PARTS.has(part?.type)) return text
      if (isAttached(part)) return ''
      const at = `${field}.${i}`
      throw invalid({
        field: `${at}.type`,
        error: `${JSON.stringify(part?.type)} is not supported; send text, images or files`,
      })
    })
    .join('')
}

type AttachedPart = {
  type: 'image_url' | 'input_image' | 'file' | 'input_file'
  image_url?: unknown
  file?: Record<string, unknown>
} & Record<string, unknown>

const ATTACHED_PARTS = new Set<unknown>(['image_url', 'input_image', 'file', 'input_file'])

function isAttached(part: { type?: unknown } | null): part is AttachedPart {
  return ATTACHED_PARTS.has(part?.type)
}

/** A message's file, and its position in the client's request. */
export type PlacedAttachment = { asked: AttachmentInput; field: string }

/** The images and files of a message. */
export function attachedIn(content: unknown, field: string): { attachments?: PlacedAttachment[] } {
  if (!Array.isArray(content)) return {}
  const attachments = content.flatMap((part, i) => (isAttached(part) ? [attachmentOf(part, `${field}.${i}`)] : []))
  return attachments.length > 0 ? { attachments } : {}
}

function attachmentOf(part: AttachedPart, at: string): PlacedAttachment {
  const isFile = part.type === 'file'
  const own = isFile ? (part.file ?? {}) : part
  const { file_id, filename: name, image_url } = own
  const within = isFile ? `${at}.file` : at
  if (typeof file_id === 'string') return { asked: { file_id }, field: `${within}.file_id` }
  const isObject = Object(image_url) === image_url
  const sources = {
    [isObject ? 'image_url.url' : 'image_url']: isObject ? (image_url as { url?: unknown }).url : image_url,
    file_data: own['file_data'],
    file_url: own['file_url'],
  }
  const [found, source] = Object.entries(sources).find(([, one]) => typeof one === 'string') ?? []
  if (found === undefined) throw invalid({ field: at, error: 'must contain a file_id, data or a URL' })
  const field = `${within}.${found}`
  return { asked: askedOf(source as string, { isData: found === 'file_data', name, field }), field }
}

function askedOf(
  source: string,
  { isData, name, field }: { isData: boolean; name: unknown; field: string },
): AttachmentInput {
  const named = typeof name === 'string' ? { name } : {}
  if (source.startsWith('data:')) return { ...dataIn(source, field), ...named }
  return isData ? { data: source, ...named } : { url: source }
}

/** Reads a data URL such as `data:image/png;base64,…`. */
function dataIn(url: string, field: string): { data: string; media_type?: string } {
  const comma = url.indexOf(',')
  const [media_type = '', ...options] = url.slice('data:'.length, Math.max(0, comma)).split(';')
  if (!options.includes('base64')) throw invalid({ field, error: 'must be a data URL in base64' })
  return { data: url.slice(comma + 1), ...(media_type !== '' && { media_type }) }
}

const TEXT_PARTS = new Set<unknown>(['text', 'input_text', 'output_text', 'refusal'])
