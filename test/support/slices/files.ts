import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { storeOf } from '../inside.ts'
import { fetchSoon } from '../running/patience.ts'
import { until } from '../running/until.ts'
import type { Reply, Service } from '../service/service.ts'

type UploadBody = NonNullable<RequestInit['body']>

type UploadInput = {
  key?: string
  type?: string | null
  query?: string
  headers?: Record<string, string>
  project?: string
}

/** Uploads bytes as a client does. */
export async function upload(service: Service, body: UploadBody, options: UploadInput = {}): Promise<Reply> {
  const { key = service.admin, type = 'application/octet-stream', query = '', headers = {} } = options
  const { project = service.project } = options
  const { response, text } = await fetchSoon(`${service.url}/v1/files${query}`, {
    method: 'POST',
    body,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(type !== null && { 'Content-Type': type }),
      ...(project !== undefined && { 'Moorage-Project': project }),
      ...headers,
    },
  })
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

/** Uploads bytes and returns the file's ID. */
export async function uploaded(service: Service, body: UploadBody, options: UploadInput = {}): Promise<string> {
  const reply = await upload(service, body, options)
  assert.equal(reply.status, 201, reply.text)
  return reply.body.data.id
}

export async function download(
  service: Service,
  id: string,
  { key = service.admin, headers = {}, method = 'GET' } = {} as {
    key?: string
    headers?: Record<string, string>
    method?: string
  },
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const response = await fetch(`${service.url}/v1/files/${id}/content`, {
    method,
    headers: { Authorization: `Bearer ${key}`, ...headers },
  })
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  }
}

/** The IDs of all bytes that are actually stored, wherever the service keeps them. */
export async function storedBytes(node: Service): Promise<string[]> {
  if (node.engine === 'sqlite') return (await readdir(join(node.data, 'files')).catch(() => [])).toSorted()
  const db = storeOf(node)
  const rows = await db.selectFrom('blob_chunks').select('blob_id').distinct().orderBy('blob_id').execute()
  return rows.map(({ blob_id }) => blob_id)
}

/** Waits until this number of different bytes is stored, because unneeded bytes are removed in the background. */
export async function untilStored(service: Service, count: number): Promise<void> {
  await until(`${count} blobs are stored`, async () => (await storedBytes(service)).length === count)
}

/** Waits until everything that is stored is also kept. */
export async function untilSettled(node: Service): Promise<void> {
  await until('nothing comes in or goes out', async () => {
    const db = storeOf(node)
    return (await db.selectFrom('blobs').select('id').where('state', '<>', 'kept').execute()).length === 0
  })
}

/** A PDF with one line on each page. */
export function pdf(pages: readonly string[]): string {
  const kids = pages.map((_page, i) => `${4 + 2 * i} 0 R`).join(' ')
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((words, i) => {
      const drawn = words === '' ? '' : `BT /F1 12 Tf 20 100 Td (${words}) Tj ET`
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents ${5 + 2 * i} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
      ]
    }),
  ]
  let text = '%PDF-1.4\n'
  const offsets = objects.map((object, i) => {
    const at = text.length
    text += `${i + 1} 0 obj\n${object}\nendobj\n`
    return at
  })
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  return `${text}xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`
}
