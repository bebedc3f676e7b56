import type { Deadline } from './deadline.ts'
import type { Model } from './models/model.ts'
import type { Log, RunEvent, RunInput, Usage } from './outcome.ts'
import type { ModelWindows } from './prompt/model-windows.ts'
import type { Step } from './steps.ts'
import type { Toolbox } from './tools/toolbox.ts'

/** A run in progress: who answers, with what, and what it has left so far, however it ends. */
export type RunInProgress = {
  input: RunInput
  model: Model
  windows: ModelWindows
  toolbox: Toolbox
  deadline: Deadline
  emit: ((event: RunEvent) => void) | undefined
  log: Log
  now: () => number
  /** How many turns and memories the model was not shown, as the log says. */
  left_out: number
  left: Left
}

/** What a run leaves, filled while it goes on. */
export type Left = { response: string; usage: Usage; steps: Step[] }

/** Thrown to leave a run that was stopped from outside; the deadline knows why. */
export class Stopped extends Error {}
