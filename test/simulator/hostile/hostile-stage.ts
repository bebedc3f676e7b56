/** So many things are asked at the same time. */
export const AGENTS = 6

/** A service whose world outside misbehaves. */
export type HostileStage = {
  /** What is wrong with what came of this seed, asked of one of the agents. */
  ask(seed: number, agent: number): Promise<string[]>
  close(): Promise<void>
}
