/** Everything that tests wait for may take so many times longer: `MOORAGE_TEST_PATIENCE=3` for a machine that is busy. */
export const PATIENCE = Number(process.env['MOORAGE_TEST_PATIENCE'] || 1)

const ANSWER_MS = 120_000 * PATIENCE

/** `fetch` whose answer must begin and end soon: a service that does not answer fails the test that asked, and says so. */
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
