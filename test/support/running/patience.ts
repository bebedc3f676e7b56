import { type Dispatcher, errors, request } from 'undici'

/** The factor by which everything that tests wait for may take longer: `MOORAGE_TEST_PATIENCE=3` for a busy machine. */
export const PATIENCE = Number(process.env['MOORAGE_TEST_PATIENCE'] || 1)

const ANSWER_MS = 120_000 * PATIENCE

/**
 * `fetch` with a short time limit for the whole reply, so a service that doesn't respond fails the right test with a
 * message.
 */
export async function fetchSoon(url: string, init: RequestInit): Promise<{ response: Response; text: string }> {
  const signal = AbortSignal.timeout(ANSWER_MS)
  try {
    const response = await fetch(url, { ...init, signal })
    return { response, text: await response.text() }
  } catch (error) {
    if (!signal.aborted) throw error
    throw new Error(`${init.method} ${url} was not answered within ${ANSWER_MS} ms`, { cause: error })
  }
}

type SentRequest = { method: string; headers: Record<string, string>; body?: string }

type TextReply = { status: number; headers: Headers; text: string }

/** What `fetch` sends. */
const USUAL_HEADERS = { Accept: '*/*', 'Accept-Language': '*', 'User-Agent': 'node' }

/**
 * The same for texts, with half of the processor time that `fetch` takes. The tests send thousands of such requests.
 * Redirects aren't followed.
 */
export async function requestSoon(url: string, { method, headers, body }: SentRequest): Promise<TextReply> {
  const options = { body: body ?? null, headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS }
  try {
    const reply = await request(url, { method, headers: { ...USUAL_HEADERS, ...headers }, ...options })
    return { status: reply.statusCode, headers: headersOf(reply), text: await reply.body.text() }
  } catch (error) {
    const isLate = error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError
    throw isLate ? new Error(`${method} ${url} was not answered within ${ANSWER_MS} ms`, { cause: error }) : error
  }
}

function headersOf({ headers }: Dispatcher.ResponseData): Headers {
  const all = new Headers()
  for (const [name, value] of Object.entries(headers)) for (const one of [value ?? []].flat()) all.append(name, one)
  return all
}
