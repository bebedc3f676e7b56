import type { Fill } from './subject.ts'

const ITEMS_PER_REQUEST = 100
const SIDE_BY_SIDE = 4
/** How many turns a conversation has before the next one begins. */
const TURNS_PER_SESSION = 20

/** Writes memories as a client would: some hundred at a time, with dates in the past year. */
export async function fillMemory(
  url: string,
  key: string,
  { users, memories, text, agent = 'hello', project }: Fill,
): Promise<void> {
  const now = Date.now()
  const step = (365 * 24 * 60 * 60 * 1000) / memories
  const batches = users.flatMap((user_id) =>
    Array.from({ length: Math.ceil(memories / ITEMS_PER_REQUEST) }, (_, batch) => ({
      user_id,
      from: batch * ITEMS_PER_REQUEST,
    })),
  )
  const write = async ({ user_id, from }: (typeof batches)[number]) => {
    const count = Math.min(ITEMS_PER_REQUEST, memories - from)
    const items = Array.from({ length: count }, (_, k) => {
      const i = from + k
      return {
        content: text(i),
        kind: 'turn',
        role: i % 2 === 0 ? 'user' : 'assistant',
        context: { user_id, session_id: `old-${Math.floor(i / TURNS_PER_SESSION)}` },
        created_at: new Date(now - (memories - i) * step).toISOString(),
      }
    })
    const reply = await fetch(`${url}/v1/agents/${agent}/memory`, {
      method: 'POST',
      headers: headersOf(key, project),
      body: JSON.stringify({ items }),
    })
    if (reply.status !== 201) throw new Error(`filling failed: ${reply.status} ${await reply.text()}`)
  }
  const workers = Array.from({ length: SIDE_BY_SIDE }, async () => {
    for (let next = batches.shift(); next; next = batches.shift()) await write(next)
  })
  await Promise.all(workers)
}

/** Makes something through the API, as a client would. */
export async function create(
  url: string,
  key: string,
  what: string,
  fields: object,
  project?: string,
): Promise<{ id: string; key?: string }> {
  const reply = await fetch(`${url}/v1/${what}`, {
    method: 'POST',
    headers: headersOf(key, project),
    body: JSON.stringify(fields),
  })
  if (reply.status !== 201) throw new Error(`${what}: ${reply.status} ${await reply.text()}`)
  const { data } = (await reply.json()) as { data: { id: string; key?: string } }
  return data
}

function headersOf(key: string, project?: string) {
  return {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    ...(project && { 'Moorage-Project': project }),
  }
}
