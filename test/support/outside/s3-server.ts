import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type LocalServer, startLocalServer } from './local-server.ts'

export type S3Server = LocalServer & {
  /** The settings of a service that keeps its files here. */
  settings: Record<string, string>
  objects: Map<string, Buffer>
  /** The keys of objects that can't be deleted. */
  locked: Set<string>
  /** Refused requests, with the reason. */
  refused: string[]
  /** How many requests fail from now on before one succeeds. */
  failures: number
  /** A page that is sent with status 200 instead of storing or deleting an object. */
  page: string | undefined
  /** Replaces the requested part of an object. */
  lie: ((object: Buffer, part: Buffer) => S3Answer) | undefined
}

type S3Answer = { status?: number; headers?: Record<string, string>; bytes?: Buffer }

const ACCESS_KEY = 'AKIDEXAMPLE'
const SECRET_KEY = 'the-secret-of-the-bucket'
const REGION = 'eu-test-1'
const BUCKET = 'moorage-files'

/**
 * A small S3 server with one bucket. It checks each request's signature, and that the body is the one that was signed.
 */
export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>()
  const server = await startLocalServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error))
  })
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (s3.failures > 0) {
      s3.failures--
      response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>')
      return
    }
    const problem = problemOf(request, body)
    if (problem) {
      s3.refused.push(problem)
      response.writeHead(403).end(`<Error><Code>${problem}</Code></Error>`)
      return
    }
    const [, bucket, key = ''] = (request.url ?? '').split('/')
    const object = objects.get(key)
    if (bucket !== BUCKET) response.writeHead(404).end('<Error><Code>NoSuchBucket</Code></Error>')
    else if (request.method !== 'GET' && s3.page !== undefined) response.end(s3.page)
    else if (request.method === 'PUT') {
      objects.set(key, body)
      response.end()
    } else if (request.method === 'DELETE' && s3.locked.has(key)) {
      response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')
    } else if (request.method === 'DELETE') {
      objects.delete(key)
      response.writeHead(204).end()
    } else if (!object) response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
    else {
      const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(String(request.headers.range)) ?? []
      const part = object.subarray(Number(start), Number(end) + 1)
      const range = `bytes ${start}-${end}/${object.length}`
      const { status = 206, headers = { 'Content-Range': range }, bytes = part } = s3.lie?.(object, part) ?? {}
      response.writeHead(status, headers).end(bytes)
    }
  }
  const settings = {
    MOORAGE_FILES__S3__ENDPOINT: server.url,
    MOORAGE_FILES__S3__BUCKET: BUCKET,
    MOORAGE_FILES__S3__REGION: REGION,
    MOORAGE_FILES__S3__ACCESS_KEY_ID: ACCESS_KEY,
    MOORAGE_FILES__S3__SECRET_ACCESS_KEY: SECRET_KEY,
  }
  const s3: S3Server = {
    ...server,
    settings,
    objects,
    locked: new Set(),
    refused: [],
    failures: 0,
    page: undefined,
    lie: undefined,
  }
  return s3
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest()

/** Checks Signature Version 4 by computing it again from the request. */
function problemOf({ method = '', url = '', headers }: IncomingMessage, body: Buffer): string | undefined {
  const form = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const [, key, scope = '', names = '', signature] = form.exec(headers.authorization ?? '') ?? []
  if (key !== ACCESS_KEY) return 'InvalidAccessKeyId'
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'XAmzContentSHA256Mismatch'
  const signed = names.split(';')
  if (!signed.includes('host') || !signed.includes('x-amz-content-sha256')) return 'UnsignedHeaders'
  const time = String(headers['x-amz-date'])
  const day = time.slice(0, 8)
  if (scope !== `${day}/${REGION}/s3/aws4_request`) return 'WrongScope'
  const [path = '', query = ''] = url.split('?')
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('')
  const canonical = [method, path, query, lines, names, headers['x-amz-content-sha256']].join('\n')
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const derived = [day, REGION, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${SECRET_KEY}`)
  return hmac(derived, text).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch'
}
