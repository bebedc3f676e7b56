import asyncHooks, { type AsyncHook, type HookCallbacks } from 'node:async_hooks'

export type Runner = Pick<typeof import('node:test'), 'after' | 'describe'> & {
  /** Whether a test that is declared after an `await` belongs to the `describe` around it. */
  follow(isFollowing: boolean): void
}

/**
 * The runner of Node, which must not be loaded before. It follows every promise to know to which test it belongs. A file
 * that is imported needs that for the tests that it declares; while they run, it would take a fifth of the processor.
 */
export async function loadRunner(): Promise<Runner> {
  const hooks: AsyncHook[] = []
  const { createHook } = asyncHooks
  const createKnown = (callbacks: HookCallbacks) => {
    const hook = createHook(callbacks)
    hooks.push(hook)
    return hook
  }
  Object.assign(asyncHooks, { createHook: createKnown })
  const { after, describe } = await import('node:test')
  Object.assign(asyncHooks, { createHook })
  return {
    after,
    describe,
    follow(isFollowing) {
      for (const hook of hooks) {
        if (isFollowing) hook.enable()
        else hook.disable()
      }
    },
  }
}
