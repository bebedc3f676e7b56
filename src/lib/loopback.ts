const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

/** Whether a URL's host is this machine, which is never reached through a proxy. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname)
}
