export type Deadline = {
  /**
   * Aborts at the deadline, on cancel and on close. The timer starts when this is first read: built-in models never
   * wait, so they never pay for it.
   */
  readonly signal: AbortSignal
  readonly stopped: 'timeout' | 'cancelled' | undefined
  readonly timeout_ms: number
  remaining(): number
  release(): void
}

export function createDeadline(cancels: readonly AbortSignal[], timeoutMs: number): Deadline {
  // The timer runs on the monotonic clock, so what is left is measured there too.
  const started = performance.now()
  let controller: AbortController | undefined
  let timer: NodeJS.Timeout | undefined
  let timedOut = false

  const cancelled = () => cancels.some((cancel) => cancel.aborted)
  const onCancel = () => controller?.abort()

  function arm(): AbortController {
    controller = new AbortController()
    if (cancelled()) controller.abort()
    for (const cancel of cancels) cancel.addEventListener('abort', onCancel, { once: true })
    timer = setTimeout(() => {
      timedOut = !cancelled()
      controller?.abort()
    }, timeoutMs)
    return controller
  }

  return {
    timeout_ms: timeoutMs,
    get signal() {
      return (controller ?? arm()).signal
    },
    get stopped() {
      if (timedOut) return 'timeout'
      return cancelled() ? 'cancelled' : undefined
    },
    remaining: () => Math.max(0, timeoutMs - (performance.now() - started)),
    release() {
      if (!controller) return
      clearTimeout(timer)
      for (const cancel of cancels) cancel.removeEventListener('abort', onCancel)
    },
  }
}
