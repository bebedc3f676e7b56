import type { Cancellation } from './deadline.ts'

/** Knows which projects are paused. Their runs ask no model and call no tool until they are resumed. */
export type PauseSource = {
  watch(project_id: string): Promise<WatchedPause>
}

/** `paused` is cancelled as soon as the project, or the whole service, is paused: also if it is already. */
export type WatchedPause = { paused: Cancellation; release(): void }
