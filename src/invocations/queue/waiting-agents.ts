/** An agent that has runs waiting in the queue, or background runs under way on this node. */
export type WaitingAgent = {
  readonly agent_seq: number
  /** Its id, and how many of its runs may be under way at once. Its first run tells; until then they are not known. */
  agent_id: string | undefined
  limit: number | null | undefined
  under_way: number
  /** Runs of it may be in the queue. */
  hasMore: boolean
  /** The store is being asked for its runs at this moment. */
  isLooking: boolean
}

/** An agent whose runs may begin now, and how many of them. */
export type Allotment = { agent: WaitingAgent; places: number }

type Places = {
  /** Places of this node, for all agents together and for one. */
  total: number
  ofOneAgent: number
  /** How many places the agent's runs have taken, whether in the background or not. */
  taken(agent_id: string): number
}

/**
 * Says whose runs begin next. Agents take turns, so that a long queue of one does not hold up the others. An agent that
 * has no free place is left alone until it has one.
 */
export class WaitingAgents {
  readonly #places: Places
  readonly #agents = new Map<number, WaitingAgent>()
  readonly #byId = new Map<string, WaitingAgent>()
  /** Those who may have a run that can begin, longest waiting first. */
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

  /** A run tells what its agent's limit is. */
  learn(agent: WaitingAgent, agent_id: string, limit: number | null): void {
    agent.agent_id = agent_id
    agent.limit = limit
    this.#byId.set(agent_id, agent)
  }

  /** A place of the agent has become free. False when nobody waits for it. */
  freed(agent_id: string): boolean {
    const agent = this.#byId.get(agent_id)
    if (!agent?.hasMore) return false
    this.#makeReady(agent)
    return true
  }

  /** What is known of the agent's limit may be wrong by now; without an id, of every agent's. */
  forgetLimits(agent_id?: string): void {
    const agents = agent_id === undefined ? [...this.#agents.values()] : [this.#byId.get(agent_id)]
    for (const agent of agents) {
      if (!agent) continue
      agent.limit = undefined
      this.#makeReady(agent)
    }
  }

  /** Whose runs may begin, and how many. The places are set aside until `looked`; until then the agent gets no others. */
  allot(): Allotment[] {
    const allotments = new Map<WaitingAgent, Allotment>()
    // One place for each agent, then another for each, as long as there are any.
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

  /** The store was asked: so many runs have begun, and perhaps the queue holds more. */
  looked({ agent, places }: Allotment, begun: number, hasMore: boolean): void {
    this.#free += places - begun
    agent.under_way += begun
    agent.isLooking = false
    agent.hasMore ||= hasMore
    this.#makeReady(agent)
  }

  /** A run that had begun is over. */
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

  /** How many more runs of the agent may begin. While its limit is not known, one run begins and tells. */
  #room({ agent_id, limit, under_way }: WaitingAgent): number {
    const own = this.#places.ofOneAgent - under_way
    if (agent_id === undefined || limit === undefined) return Math.min(own, 1)
    return limit === null ? own : Math.min(own, limit - this.#places.taken(agent_id))
  }
}

function newAgent(agent_seq: number): WaitingAgent {
  return { agent_seq, agent_id: undefined, limit: undefined, under_way: 0, hasMore: false, isLooking: false }
}
