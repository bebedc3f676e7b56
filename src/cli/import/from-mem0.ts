import { isObject } from '../../lib/json.ts'
import { type Fields, type ImportItem, itemOf, textOf, timeOf } from './import-item.ts'

/** mem0: a list of memories, each one a sentence about a user. */
export function fromMem0(values: Fields[]): ImportItem[] {
  return values.flatMap((found) => {
    const content = textOf(found['memory'])
    if (content === undefined) return []
    const { metadata, categories, id } = found
    return itemOf('fact', content, {
      user_id: textOf(found['user_id']),
      session_id: textOf(found['run_id']),
      metadata: {
        ...(isObject(metadata) && metadata),
        ...(Array.isArray(categories) && { categories }),
        ...(textOf(id) && { mem0_id: id }),
      },
      created_at: timeOf(found['created_at']),
    })
  })
}

export function isMem0([first]: Fields[]): boolean {
  return textOf(first?.['memory']) !== undefined
}
