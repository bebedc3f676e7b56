import { BASE } from '../../lib/base.ts'
import { useResource } from '../../lib/resource.ts'
import type { Word, WordsAt } from '../../ui/editor/yaml-place.ts'

type Schema = {
  $ref?: string
  description?: string
  type?: string
  enum?: string[]
  const?: string
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
}
type Document = { components: { schemas: Record<string, Schema> } }

/** The words that can be written at a place in the definition, from the service's own API description. */
export function useWords(isWanted: boolean, models: readonly string[]): WordsAt {
  const { data } = useResource(isWanted ? 'openapi' : undefined, async (signal) => {
    const reply = await fetch(new URL('v1/openapi.json', BASE), { signal })
    return (await reply.json()) as Document
  })
  return ({ path, key, siblings }) => {
    if (!data) return []
    const resolved = (schema: Schema): Schema =>
      schema.$ref ? resolved(data.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}) : schema
    const variantsOf = (schema: Schema): Schema[] => {
      const { anyOf, oneOf } = resolved(schema)
      return (anyOf ?? oneOf)?.flatMap(variantsOf) ?? [resolved(schema)]
    }
    let found = variantsOf(data.components.schemas['UpdateAgent'] ?? {})
    for (const step of path) {
      found = found.flatMap((schema) => {
        const inside = step === '-' ? schema.items : schema.properties?.[step]
        return inside ? variantsOf(inside) : []
      })
    }
    // There are several kinds of tools. The one that is already there determines which fields fit.
    const fitting = found.filter(({ properties }) => {
      const kind = properties?.['type']?.const
      return !kind || !siblings.get('type') || siblings.get('type') === kind
    })
    if (key === undefined) return namesOf(fitting, siblings)
    if (key === 'model' && path.length === 0) return models.map((text) => ({ text }))
    return fitting.flatMap(({ properties }) => variantsOf(properties?.[key] ?? {})).flatMap(valuesOf)
  }
}

function namesOf(schemas: readonly Schema[], siblings: ReadonlyMap<string, string>): Word[] {
  const words = new Map<string, Word>()
  for (const { properties = {} } of schemas) {
    for (const [text, { description }] of Object.entries(properties)) {
      if (!siblings.has(text)) words.set(text, { text, ...(description && { about: description }), isName: true })
    }
  }
  return [...words.values()]
}

function valuesOf(schema: Schema): Word[] {
  if (schema.type === 'boolean') return [{ text: 'true' }, { text: 'false' }]
  const texts = schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  return texts.map((text) => ({ text: String(text) }))
}
