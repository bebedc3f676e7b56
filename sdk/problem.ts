/** Why a call is not answered. */
export function problem(status: number, message: string): Response {
  return Response.json({ error: { message } }, { status })
}
