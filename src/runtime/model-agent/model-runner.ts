import { askModel } from '../conversation/ask-model.ts'
import { converse } from '../conversation/conversation.ts'
import type { Equipment } from '../conversation/equipment.ts'
import { roundsForCaller } from '../next-step.ts'
import { RunStopped } from '../run-in-progress.ts'
import type { RunAnswer, RunHost, Runner, RunRequest } from '../runner.ts'

/** Agents made of instructions, a model and tools: the model calls tools until it has an answer. */
export class ModelRunner implements Runner {
  readonly #equipment: Equipment

  constructor(equipment: Equipment) {
    this.#equipment = equipment
  }

  async run(request: RunRequest, host: RunHost): Promise<RunAnswer> {
    const run = await this.#equipment.open(request, host)
    try {
      if (host.deadline.stopped) throw new RunStopped()
      await converse(run, (asking) => askModel(run, asking))
    } finally {
      await run.toolbox.close?.()
    }
    const { given } = request
    const rounds = given?.tools && roundsForCaller(host.left.steps, given.rounds)
    return rounds ? { status: 'completed', rounds } : { status: 'completed' }
  }
}
