/** An agent with runs in the queue, or with background runs on this node. */
export type WaitingAgent = {
  readonly agent_seq: number
  /** Its id, and how many of its runs may be under way at once. They are not known before its first run. */
  agent_id: string | undefined
  limit: number | null | undefined
  under_way: number
  /** Whether there may be runs of it in the queue. */
  hasMore: boolean
  /** Whether the store is being asked for its runs. */
  isLooking: boolean
  /** Whether the runs of other nodes had all its places when it was looked at last. */
  isFull: boolean
  /** When the other nodes were told that runs wait here for its places. They are told again after a while. */
  waitsSince: number
}

/** An agent whose runs may begin now, and how many of them. */
export type Allotment = { agent: WaitingAgent; places: number }

type Places = {
  /** The places of this node, for all agents together and for one. */
  total: number
  ofOneAgent: number
  /** How many places the agent's runs have taken, whether in the background or not. */
  taken(agent_id: string): number
}

/**
 * Decides whose runs begin next. Agents alternate, so that a long queue of one agent does not delay the others. An
 * agent without a free place is skipped until it has one.
 */
export class WaitingAgents {
  readonly #places: Places
  readonly #agents = new Map<number, WaitingAgent>()
  readonly #byId = new Map<string, WaitingAgent>()
  /** The agents that may have a run to begin. The one that has waited longest comes first. */
  readonly #ready = new Set<WaitingAgent>()
  #free: number

  constructor(places: Places) {
    this.#places = places
    this.#free = places.total
  }

  /** The agent has runs in the queue. */
  add(agent_seq: number): void {
    const agent = this.#agents.get(agent_seq) ?? newAgent(agent_seq)
    this.#agents.set(agent_seq, agent)
    agent.hasMore = true
    this.#makeReady(agent)
  }

  find(agent_seq: number): WaitingAgent | undefined {
    return this.#agents.get(agent_seq)
  }

  /** A run tells the limit of its agent. */
  learn(agent: WaitingAgent, agent_id: string, limit: number | null): void {
    agent.agent_id = agent_id
    agent.limit = limit
    this.#byId.set(agent_id, agent)
  }

  /** A place of the agent has become free. Returns false when no run waits for it. */
  freed(agent_id: string): boolean {
    const agent = this.#byId.get(agent_id)
    if (!agent?.hasMore) return false
    this.#makeReady(agent)
    return true
  }

  /** The known limit of the agent may be outdated. Without an id, those of all agents may be. */
  forgetLimits(agent_id?: string): void {
    const agents = agent_id === undefined ? [...this.#agents.values()] : [this.#byId.get(agent_id)]
    for (const agent of agents) {
      if (!agent) continue
      agent.limit = undefined
      this.#makeReady(agent)
    }
  }

  /**
   * The agents whose runs may begin, and how many. The places are set aside until `looked` is called. Until then the
   * agent gets no others.
   */
  allot(): Allotment[] {
    const allotments = new Map<WaitingAgent, Allotment>()
    // Each agent gets one place, then each gets another, as long as places are left.
    for (let given = 1; given > 0; ) {
      given = 0
      for (const agent of this.#ready) {
        if (this.#free === 0) break
        const allotment = allotments.get(agent) ?? { agent, places: 0 }
        if (allotment.places >= this.#room(agent)) {
          this.#ready.delete(agent)
          continue
        }
        allotment.places++
        allotments.set(agent, allotment)
        this.#free--
        given++
      }
    }
    for (const { agent } of allotments.values()) {
      this.#ready.delete(agent)
      agent.isLooking = true
      agent.hasMore = false
    }
    return [...allotments.values()]
  }

  /**
   * The store was asked: so many runs have begun, and there may be more in the queue. If the runs of other nodes have
   * all places (`isFull`), the agent waits until a run ends here, or until it is added again.
   */
  looked({ agent, places }: Allotment, begun: number, hasMore: boolean, isFull = false): void {
    this.#free += places - begun
    agent.under_way += begun
    agent.isLooking = false
    agent.isFull = isFull
    agent.hasMore ||= hasMore
    if (!isFull) this.#makeReady(agent)
  }

  /** A run has ended. */
  ended(agent: WaitingAgent): void {
    this.#free++
    agent.under_way--
    this.#makeReady(agent)
  }

  #makeReady(agent: WaitingAgent): void {
    if (agent.isLooking) return
    if (agent.hasMore) this.#ready.add(agent)
    else if (agent.under_way === 0) this.#forget(agent)
  }

  #forget({ agent_seq, agent_id }: WaitingAgent): void {
    this.#agents.delete(agent_seq)
    if (agent_id !== undefined) this.#byId.delete(agent_id)
  }

  /** How many more runs of the agent may begin. While its limit is not known, one run begins and tells it. */
  #room({ agent_id, limit, under_way }: WaitingAgent): number {
    const own = this.#places.ofOneAgent - under_way
    if (agent_id === undefined || limit === undefined) return Math.min(own, 1)
    return limit === null ? own : Math.min(own, limit - this.#places.taken(agent_id))
  }
}

function newAgent(agent_seq: number): WaitingAgent {
  return {
    agent_seq,
    agent_id: undefined,
    limit: undefined,
    under_way: 0,
    hasMore: false,
    isLooking: false,
    isFull: false,
    waitsSince: Number.NEGATIVE_INFINITY,
  }
}
