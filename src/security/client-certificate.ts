import { X509Certificate } from 'node:crypto'

/** Whether a client certificate is valid at a time. */
export type CertificateCheck = (certificate: X509Certificate, time: number) => boolean

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g
const CLIENT_AUTHENTICATION = '1.3.6.1.5.5.7.3.2'

/**
 * Accepts certificates that one of these authorities (PEM, one or several) has signed directly. An intermediate
 * authority counts only if it is in the list; those that a client sends are ignored. Throws if the text contains no
 * authority.
 */
export function certificateCheck(pem: string): CertificateCheck {
  const authorities = readCertificates(pem).filter(({ ca }) => ca)
  if (authorities.length === 0) throw new Error('contains no CA certificate')
  // A connection sends many requests with the same certificate, so its signature is checked only once.
  const issuers = new WeakMap<X509Certificate, X509Certificate | null>()

  const issuerOf = (certificate: X509Certificate): X509Certificate | null => {
    const known = issuers.get(certificate)
    if (known !== undefined) return known
    const issuer = authorities.find((one) => certificate.checkIssued(one) && certificate.verify(one.publicKey)) ?? null
    issuers.set(certificate, issuer)
    return issuer
  }

  return (certificate, time) => {
    const issuer = issuerOf(certificate)
    return issuer !== null && mayBeClient(certificate) && isInForce(certificate, time) && isInForce(issuer, time)
  }
}

/** Throws if the text contains anything that isn't a certificate. */
function readCertificates(pem: string): X509Certificate[] {
  return (pem.match(PEM_CERTIFICATE) ?? []).map((block) => new X509Certificate(block))
}

function isInForce({ validFromDate, validToDate }: X509Certificate, time: number): boolean {
  return validFromDate.getTime() <= time && time < validToDate.getTime()
}

/** A certificate without extended key usage can be used for anything. */
function mayBeClient({ keyUsage }: X509Certificate): boolean {
  const usages = keyUsage as string[] | undefined
  return usages === undefined || usages.includes(CLIENT_AUTHENTICATION)
}
