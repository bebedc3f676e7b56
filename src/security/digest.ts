import { hash, timingSafeEqual } from 'node:crypto'

export function sha256(text: string): string {
  return hash('sha256', text)
}

/** Compares digests, because timingSafeEqual needs equal lengths, and the length must not be revealed either. */
export function constantTimeEqual(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
}
