/**
 * An answer that is remembered and given to many requests. The reply to the first of them is remembered with it, so that
 * the others need not be rendered.
 */
export class KnownAnswer<T> {
  readonly answer: T
  /** One for each dialect in which it was given. */
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
