import { deleteSet } from './delete-set.ts'
import { getSet } from './get-set.ts'
import { listSets } from './list-sets.ts'
import { putSet } from './put-set.ts'

export const setOperations = [putSet, listSets, getSet, deleteSet]
