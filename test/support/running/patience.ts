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
