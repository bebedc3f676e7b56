import { z } from 'zod'
import { isObject } from './lib/json.ts'
import { NOT_ONE_LINE, ONE_LINE } from './lib/text/text.ts'
import { formatTime, parseTime } from './lib/time.ts'

/** Epoch milliseconds inside, RFC 3339 in UTC on the wire. */
export const Time = z.number().transform(formatTime).pipe(z.iso.datetime())

/** Beside the id of an actor. See `withKeyNames`. */
export const KeyName = z
  .string()
  .nullable()
  .optional()
  .describe("The name of the key with that ID. Null if it is not a key's ID, or the key no longer exists")

/** RFC 3339 with an offset on the wire, epoch milliseconds inside. */
export const TimeInput = z
  .string()
  .transform((text, context) => {
    const time = parseTime(text)
    if (time !== undefined) return time
    context.addIssue({ code: 'custom', message: 'must be an RFC 3339 timestamp with an offset' })
    return z.NEVER
  })
  .meta({ format: 'date-time' })

/**
 * Text that people and models write; it may have several lines. The transport refuses U+0000, which PostgreSQL cannot
 * hold.
 */
export const Text = (max: number, min = 1) => z.string().min(min).max(max)

/** A name or an id: text of one line. */
export const Label = (max: number, min = 1) => Text(max, min).regex(ONE_LINE, NOT_ONE_LINE)

/** A free-form object of the client. That it is JSON is known: it came as JSON. */
export const Metadata = z
  .record(z.string().max(256), z.unknown())
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= 65_536, 'must be at most 64 KiB of JSON')

const DEFAULT_LIMIT = 10
const MAX_LIMIT = 100

/**
 * The query of a list: `limit`, `offset`, `sort` by one of the fields, and the list's filters. The default order is
 * newest first.
 */
export function listQuery<const Field extends string, Filters extends z.ZodRawShape>(
  fields: readonly Field[],
  filters: Filters,
  sort: `-${Field}` = '-created_at' as `-${Field}`,
) {
  const sorts = fields.flatMap((field) => [field, `-${field}`] as const)
  return z.strictObject({
    limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
    offset: z.int().min(0).default(0),
    sort: z.enum(sorts).default(sort as never),
    ...filters,
  })
}

export const CostUsd = z.number().nullable().describe('In US dollars; null if a model has no price')

const DAY_SECONDS = 86_400

/** How long the old secret stays valid beside the new one; 0 ends it and all before it now. */
export const RotationBody = z.strictObject({
  grace_period_seconds: z
    .int()
    .min(0)
    .max(7 * DAY_SECONDS)
    .default(DAY_SECONDS),
})

/**
 * Reads a stored value through today's shape. Fields that did not exist when it was stored get their defaults, and
 * fields that no longer exist are dropped. The value was valid when it was stored, so rules that came later do not
 * refuse it.
 */
export function parseStored<Shape extends z.ZodType>(shape: Shape, stored: unknown): z.output<Shape> {
  return fillIn(shape, stored) as z.output<Shape>
}

function fillIn(shape: z.core.$ZodType, stored: unknown): unknown {
  const parsed = z.safeParse(shape, stored)
  if (parsed.success) return parsed.data
  if (shape instanceof z.ZodDefault || shape instanceof z.ZodPrefault || shape instanceof z.ZodNullable) {
    return fillIn(shape.unwrap(), stored)
  }
  if (shape instanceof z.ZodArray && Array.isArray(stored)) return stored.map((item) => fillIn(shape.element, item))
  if (shape instanceof z.ZodDiscriminatedUnion) return fillIn(optionOf(shape, stored) ?? z.unknown(), stored)
  if (shape instanceof z.ZodObject && isObject(stored)) {
    const fields = Object.entries(shape.shape).map(([name, field]) => [name, fillIn(field, stored[name])])
    return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
  }
  return stored
}

/** The option of a union that the value belongs to, as its field (for example `type`) says. */
function optionOf({ def, options }: z.ZodDiscriminatedUnion, stored: unknown): z.core.$ZodType | undefined {
  if (!isObject(stored)) return undefined
  const { [def.discriminator]: name } = stored
  return options.find(
    (option) => option instanceof z.ZodObject && z.safeParse(option.shape[def.discriminator], name).success,
  )
}

type Bare<T> = T extends z.ZodDefault<infer Inner> | z.ZodPrefault<infer Inner> ? Inner : T

/** The fields of a shape without their defaults, for replies and for PATCH bodies. */
export function bareShape<S extends z.ZodRawShape>(shape: S): { [K in keyof S]: Bare<S[K]> } {
  const bare = Object.entries(shape).map(([name, field]) => [
    name,
    field instanceof z.ZodDefault || field instanceof z.ZodPrefault ? field.unwrap() : field,
  ])
  return Object.fromEntries(bare)
}
