import { z } from 'zod'
import { parseSize } from '../lib/size.ts'
import { Size } from './values.ts'

/** How much may be uploaded. */
export const FileSettings = z.strictObject({
  maxBytes: Size.refine((bytes) => bytes >= 1024 && bytes <= parseSize('5GiB'), 'must be between 1KiB and 5GiB')
    .prefault('50MiB')
    .describe('Largest file, 1KiB to 5GiB'),
  maxBytesPerUser: Size.refine((bytes) => bytes > 0, 'must be more than 0')
    .optional()
    .describe('Bytes that the files of one user may have in a project; without it as many as the project may have'),
})
