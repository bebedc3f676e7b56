/**
 * An answer that is remembered and given to many requests. The rendered reply is remembered too, so that it is rendered
 * once.
 */
export class KnownAnswer<T> {
  readonly answer: T
  /** One reply for each dialect in which the answer was given. */
  readonly #replies = new Map<object, unknown>()

  constructor(answer: T) {
    this.answer = answer
  }

  replyIn<Reply>(dialect: object, render: () => Reply): Reply {
    const known = this.#replies.get(dialect) as Reply | undefined
    if (known !== undefined) return known
    const reply = render()
    this.#replies.set(dialect, reply)
    return reply
  }
}
