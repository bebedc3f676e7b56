/** The headers that sign a message, in the same way as for webhooks. */
export type SignCall = (message: SignedCall, secret: string) => Record<string, string>

type SignedCall = { id: string; timestamp: number; body: string }

type HeadedCall = {
  run: { request_id: string; attempt: number }
  body: string
  secret: string
  now: number
  /** The headers in the agent's definition. */
  own?: Record<string, string>
  traceparent?: string | undefined
}

/** The headers of a call. An agent's own headers can't replace the signature or the key. */
export function callHeaders(
  { run, body, secret, now, own = {}, traceparent }: HeadedCall,
  sign: SignCall,
): Record<string, string> {
  const id = `${run.request_id}-${run.attempt}`
  const lower = Object.fromEntries(Object.entries(own).map(([name, text]) => [name.toLowerCase(), text]))
  return {
    'content-type': 'application/json; charset=utf-8',
    accept: 'text/event-stream, application/json',
    'user-agent': 'moorage',
    ...lower,
    ...sign({ id, timestamp: Math.floor(now / 1000), body }, secret),
    'idempotency-key': id,
    ...(traceparent !== undefined && { traceparent }),
  }
}
