import { useResource } from '../resource.ts'
import { service } from '../service.ts'
import { may } from '../session-state.ts'

const BUILTIN = ['builtin/echo', 'builtin/recall', 'builtin/script']

/**
 * The models that an agent can name: the built-in ones, and those that the providers list. The providers are asked only
 * when the reader needs a name.
 */
export function useModelNames(isWanted: boolean): string[] {
  const mayList = isWanted && may('listProviders') && may('listProviderModels')
  const { data } = useResource(mayList ? 'model names' : undefined, async (signal) => {
    const { data: providers } = await service.providers.list({ limit: 100 }, { signal })
    const lists = await Promise.all(
      providers.map(async ({ name }) => {
        const list = await service.providers.models(name, { signal }).catch(() => undefined)
        return list?.models.map(({ model }) => model) ?? []
      }),
    )
    return lists.flat()
  })
  return [...(data ?? []), ...BUILTIN]
}
