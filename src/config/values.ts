import { z } from 'zod'
import { DURATION_PATTERN, parseDuration } from '../lib/duration.ts'
import { parseSize, SIZE_PATTERN } from '../lib/size.ts'

const SIZE_MESSAGE = 'must be a size such as 1MiB, 500kB or 65536'
export const Size = z
  .union([z.int(), z.string().regex(SIZE_PATTERN, SIZE_MESSAGE)], SIZE_MESSAGE)
  .transform((size) => (typeof size === 'string' ? parseSize(size) : size))

/** A duration between two limits, converted to milliseconds. */
export function duration(min: string, max: string) {
  const isWithin = (length: number) => length >= parseDuration(min) && length <= parseDuration(max)
  return z
    .string('must be a duration such as 15s')
    .regex(DURATION_PATTERN, 'must be a duration such as 250ms, 15s, 5m, 1h or 30d')
    .refine(
      (text) => !DURATION_PATTERN.test(text) || isWithin(parseDuration(text)),
      `must be between ${min} and ${max}`,
    )
    .transform(parseDuration)
}

export function retention(fallback: string) {
  return duration('1h', '36500d').prefault(fallback)
}

const NAMES = { form: /^[a-z][a-z0-9_-]{0,31}$/, rule: 'use 1 to 32 of a-z, 0-9, _ and -, starting with a letter' }

/** An object with names as keys. The error for another name says what names must look like. */
export function record<T extends z.ZodType>(values: T, { form, rule } = NAMES) {
  return z.record(z.string().regex(form), values, {
    error: ({ code }) => (code === 'invalid_key' ? `is not a valid name; ${rule}` : undefined),
  })
}
