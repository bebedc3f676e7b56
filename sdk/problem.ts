/** The reply to a call that isn't answered, with the reason. */
export function problem(status: number, message: string): Response {
  return Response.json({ error: { message } }, { status })
}
