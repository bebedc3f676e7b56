import asyncHooks, { type AsyncHook, type HookCallbacks } from 'node:async_hooks'

export type Runner = Pick<typeof import('node:test'), 'after' | 'describe'> & {
  /** Whether a test that is declared after an `await` belongs to the surrounding `describe`. */
  follow(isFollowing: boolean): void
}

/**
 * Node's test runner, which must not be loaded earlier. It tracks every promise to know to which test it belongs. A
 * file that is being imported needs that for declaring its tests. While they run, it would cost a fifth of the
 * processor time.
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
