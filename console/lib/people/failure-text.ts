/** Why a sign-in failed, by what the service writes behind the `#`, and what to do now. */
const TEXTS: Record<string, string> = {
  expired: 'It took too long, or was begun in another browser. Sign in again.',
  denied: 'You were not let in there, or have declined. Sign in again, or ask who runs the identity provider.',
  refused:
    'What the identity provider answered is not in order. Sign in again; if that does not help, tell who runs this service: its log says why.',
  issuer_unavailable: 'The identity provider does not answer. Wait a moment; keys and links still sign in.',
  no_role:
    'You are known here now, but you have no role yet. Ask an administrator of this service for one, then sign in again.',
  other_domain:
    'Your e-mail address is not one of those that may sign in here. Use another account, or ask an administrator for an invitation.',
  invitation_invalid:
    'The invitation is for another e-mail address, or was used, taken back or has expired. Open its link again and use the address that was invited, or ask for another one.',
  email_not_verified:
    'Your identity provider has not verified your e-mail address. Have it verified there, then open the link of the invitation again.',
}

export function failureText(code: string): string {
  return `You are not signed in. ${TEXTS[code] ?? 'Try again.'}`
}
