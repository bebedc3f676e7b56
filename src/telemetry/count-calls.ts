import type { Telemetry } from './telemetry.ts'

type Call<Input extends unknown[]> = (...input: Input) => Promise<Response>

/** Wraps a call and counts its results: the first digit of the status, or an error. */
export function countCalls<Input extends unknown[]>(
  call: Call<Input>,
  kind: string,
  telemetry: Telemetry,
): Call<Input> {
  return async (...input) => {
    const started = performance.now()
    let result = 'error'
    try {
      const response = await call(...input)
      result = `${Math.floor(response.status / 100)}xx`
      return response
    } finally {
      telemetry.outgoing.add(1, kind, result)
      telemetry.outgoingSeconds.add((performance.now() - started) / 1000, kind)
    }
  }
}
