import { type JWTPayload, SignJWT } from 'jose'

export const JWT_SECRET = 'a-secret-that-is-long-enough-for-hs256'

/** The settings of a service that accepts tokens signed with this secret. */
export const JWT_SETTINGS = { MOORAGE_AUTH__TYPE: 'jwt', MOORAGE_AUTH__SECRET: JWT_SECRET }

type Claims = Record<string, unknown>

/** An HS256 token as an application would sign it for one of its users, valid for half an hour. */
export function signJwt(
  claims: Claims = {},
  { secret = JWT_SECRET, header = {} }: { secret?: string; header?: Claims } = {},
): Promise<string> {
  const iat = Math.floor(Date.now() / 1000)
  const all = { user_id: 'ada', iat, exp: iat + 1800, ...claims }
  return new SignJWT(all as JWTPayload).setProtectedHeader({ alg: 'HS256', ...header }).sign(Buffer.from(secret))
}

/** A token that is assembled by hand and signed by `sign`. */
export function forgeJwt(header: Claims, claims: Claims, sign: (input: string) => string = () => ''): string {
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${sign(input)}`
}
