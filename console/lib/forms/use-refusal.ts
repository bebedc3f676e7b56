import { useRef } from 'preact/hooks'

/** The service's objection to a value. It is dropped when the value changes, because it may no longer apply. */
export function useRefusal<Refusal>(refusal: Refusal | undefined, value: unknown): Refusal | undefined {
  const about = useRef({ refusal, value })
  if (about.current.refusal !== refusal) about.current = { refusal, value }
  return about.current.value === value ? refusal : undefined
}
