/** Why a sign-in failed, by what the service writes behind the `#`, and what to do now. */
const TEXTS: Record<string, string> = {
  expired: 'The sign-in timed out or was started in another browser. Try again.',
  denied:
    "Your identity provider denied the sign-in, or you cancelled it. Try again, or ask your identity provider's administrator.",
  refused:
    "The identity provider's response was invalid. Try again. If the problem persists, contact the service's administrator: details are in the service's log.",
  issuer_unavailable: "The identity provider isn't responding. Try again shortly, or sign in with a key or link.",
  no_role: "You don't have a role yet. Ask a service administrator to give you one, then sign in again.",
  other_domain:
    "Your email address isn't allowed to sign in here. Use another account, or ask an administrator for an invitation.",
  invitation_invalid:
    'The invitation is for another email address, or it was used, revoked or has expired. Open its link again and sign in with the invited address, or ask for a new invitation.',
  email_not_verified:
    'Your identity provider has not verified your email address. Verify it there, then open the invitation link again.',
}

export function failureText(code: string): string {
  return `You are not signed in. ${TEXTS[code] ?? 'Try again.'}`
}
