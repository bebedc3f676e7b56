import { z } from 'zod'
import { parseSize } from '../lib/size.ts'
import { SecretText, WebAddress } from '../security/security-settings.ts'
import { Size } from './values.ts'

const MOST_FILES = 1_000_000_000

/** How much may be uploaded. */
export const FileSettings = z.strictObject({
  maxBytes: Size.refine((bytes) => bytes >= 1024 && bytes <= parseSize('5GiB'), 'must be between 1KiB and 5GiB')
    .prefault('50MiB')
    .describe('Maximum file size, 1KiB to 5GiB'),
  s3: z
    .strictObject({
      endpoint: WebAddress.describe('URL of the S3-compatible service, such as https://s3.eu-central-1.amazonaws.com'),
      bucket: z
        .string()
        .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
        .describe('Bucket for the bytes of files. Use it for nothing else'),
      region: z.string().min(1).default('us-east-1').describe('Region of the bucket'),
      accessKeyId: z.string().min(1).describe('Access key that can put, get and delete objects there'),
      secretAccessKey: SecretText.describe('Secret access key'),
    })
    .optional(),
  maxBytesPerUser: Size.refine((bytes) => bytes > 0, 'must be more than 0')
    .optional()
    .describe("Total bytes of one user's files in a project. If not set, only the project's limit applies"),
  maxPerUser: z.int().min(1).max(MOST_FILES).default(100_000).describe('Number of files per user in a project'),
  maxPerProject: z.int().min(1).max(MOST_FILES).default(1_000_000).describe('Number of files per project'),
})
