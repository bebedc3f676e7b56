// Uploads, reads and deletes files whose bucket misbehaves, and says what is wrong with what came of it.
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import type { Engine } from '../../support/service/service.ts'
import { type Act, isFair, openHostileS3, type Performance, performanceOf } from './hostile-s3.ts'
import { FAST, type HostileStage, type StartSubject, type Subject } from './hostile-stage.ts'

const SECRET = 'the-secret-of-the-hostile-bucket'
/** Four tries, of which each may be silent for half a minute, with pauses in between. */
const MOST_MS = 140_000
const QUICK_MS = 15_000 * PATIENCE

/** A service has one bucket, so each place has its own. */
export async function openS3Stage(engine: Engine, start: StartSubject): Promise<HostileStage> {
  const s3 = await openHostileS3()
  const services = new Map<number, Promise<Subject>>()
  const open = (place: number) =>
    start(engine, {
      ...FAST,
      MOORAGE_FILES__S3__ENDPOINT: s3.url,
      MOORAGE_FILES__S3__BUCKET: `bucket-${place}`,
      MOORAGE_FILES__S3__ACCESS_KEY_ID: 'AKIDEXAMPLE',
      MOORAGE_FILES__S3__SECRET_ACCESS_KEY: SECRET,
      LOG_LEVEL: 'debug',
    })
  return {
    async ask(seed, place) {
      const opened = services.get(place) ?? open(place)
      services.set(place, opened)
      const service = await opened
      const performance = performanceOf(seed)
      const wrong = await askOnce(service, s3.begin(`bucket-${place}`, performance))
      if (s3.elsewhere.came.length > 0) wrong.push('a redirect to another host was followed')
      if (service.log().includes(SECRET)) wrong.push('the secret is in the log of the service')
      return wrong.map((one) => `seed ${seed} (${performance.phase}: ${performance.manners.join(', ')}): ${one}`)
    },
    async close() {
      await Promise.all([...services.values()].map(async (service) => (await service).stop())).finally(s3.close)
    },
  }
}

async function askOnce(service: Subject, act: Act): Promise<string[]> {
  const { performance } = act
  const { phase, content, seed } = performance
  const wrong: string[] = []
  const rudely = async <T>(when: Performance['phase'], work: () => Promise<T>): Promise<T> => {
    act.isRude = phase === when
    const began = globalThis.performance.now()
    const done = await work()
    const took = globalThis.performance.now() - began
    const isSilent = performance.manners.some((manner) => ['no answer', 'silence', 'endless'].includes(manner))
    if (took > (isSilent ? MOST_MS : QUICK_MS)) wrong.push(`it took ${Math.round(took)} ms`)
    act.isRude = false
    return done
  }
  const name = `file-${seed}.bin`
  const uploaded = await rudely('upload', () => upload(service, name, content))
  const listed = await service.call('GET', '/v1/files?limit=100')
  const isListed = listed.body.data.some((one: { name: string }) => one.name === name)
  if (uploaded.status !== 201) {
    if (phase !== 'upload' || isFair(performance))
      wrong.push(`a fair upload was answered with ${uploaded.status}: ${uploaded.text}`)
    if (uploaded.status < 500) wrong.push(`the upload was answered with ${uploaded.status}: ${uploaded.text}`)
    if (isListed) wrong.push('a file is listed whose upload has failed')
    return [...wrong, ...leaked(uploaded.text)]
  }
  const { id, size } = JSON.parse(uploaded.text).data
  if (!isListed || size !== content.length) wrong.push(`a file of ${content.length} bytes is listed with ${size}`)
  const path = `/v1/files/${id}/content`
  await rudely('read', async () => {
    wrong.push(...(await wrongRead(service, path, performance, undefined)))
    act.asked = 0
    wrong.push(...(await wrongRead(service, path, performance, performance.range)))
  })
  // What was acknowledged is there, once the bucket behaves again.
  const [again] = await wrongRead(service, path, { ...performance, manners: [] }, undefined)
  if (again) wrong.push(`afterwards, ${again}`)
  const deleted = await rudely('delete', () => service.call('DELETE', `/v1/files/${id}`))
  if (deleted.status !== 200) wrong.push(`to delete it was answered with ${deleted.status}: ${deleted.text}`)
  const gone = await service.call('GET', `/v1/files/${id}`)
  if (gone.status !== 404) wrong.push(`a deleted file is ${gone.status}`)
  try {
    await until('', () => act.busy.size === 0, 3_000)
  } catch {
    wrong.push(`${act.busy.size} answers are still being read`)
  }
  return [...wrong, ...leaked(deleted.text)]
}

const leaked = (text: string) =>
  text.includes(SECRET) || text.includes('AKIDEXAMPLE') ? ['a key is in the reply'] : []

async function upload(service: Subject, name: string, content: Buffer): Promise<{ status: number; text: string }> {
  const response = await fetch(`${service.url}/v1/files?name=${name}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${service.admin}`, 'Content-Type': 'application/octet-stream' },
    body: new Uint8Array(content),
    signal: AbortSignal.timeout(2 * MOST_MS),
  })
  return { status: response.status, text: await response.text() }
}

/** The right bytes, or a failure that a client notices: another status, or a reply that breaks off. */
async function wrongRead(
  service: Subject,
  path: string,
  performance: Performance,
  range: [number, number] | undefined,
): Promise<string[]> {
  const { content } = performance
  const what = range ? `bytes ${range.join('-')}` : 'the file'
  const due = range ? content.subarray(range[0], range[1] + 1) : content
  const mustBeRight = performance.phase !== 'read' || isFair(performance)
  // A part has no hash of its own.
  const isUnknowable = range && performance.manners.includes('other bytes')
  try {
    const headers = { Authorization: `Bearer ${service.admin}`, ...(range && { Range: `bytes=${range.join('-')}` }) }
    const response = await fetch(service.url + path, { headers, signal: AbortSignal.timeout(2 * MOST_MS) })
    const bytes = Buffer.from(await response.arrayBuffer())
    const isGood = response.status === (range ? 206 : 200)
    if (isGood && bytes.equals(due)) return []
    if (isGood && isUnknowable && bytes.length === due.length) return []
    if (isGood) return [`${what}: ${bytes.length} bytes came that are not those of the file (${due.length})`]
    return mustBeRight || response.status < 500
      ? [`${what}: answered with ${response.status}: ${bytes.toString().slice(0, 200)}`]
      : []
  } catch (error) {
    return mustBeRight ? [`${what}: ${(error as Error).message} ${(error as Error).cause ?? ''}`] : []
  }
}
