import { useRef } from 'preact/hooks'

/** What was said about a value, as long as it is the same value: what the reader has changed is not wrong any more. */
export function useRefusal<Refusal>(refusal: Refusal | undefined, value: unknown): Refusal | undefined {
  const about = useRef({ refusal, value })
  if (about.current.refusal !== refusal) about.current = { refusal, value }
  return about.current.value === value ? refusal : undefined
}
