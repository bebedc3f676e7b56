import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TABLES, type TableName } from '../../src/storage/tables.ts'
import {
  type CarriedName,
  carriedNames,
  carriedTable,
  cellColumns,
  factsOf,
  orderOf,
  TRANSFER,
} from '../../src/transfer/carried-tables.ts'
import { PARTS } from '../../src/transfer/transfer-parts.ts'

const carried = carriedNames(PARTS)

/** Columns that look like references and are none that could reach anything: they are shown, or are names of clients. */
const ONLY_SHOWN = new Set([
  'user_id',
  'session_id',
  'deployment_id',
  'call_id',
  'key_id',
  'person_id',
  'scope_id',
  'replaces',
  'rollback_of',
])

describe('what an export does with each table', () => {
  test('every table is exported, or has a reason why not', () => {
    assert.deepEqual(Object.keys(TRANSFER).toSorted(), Object.keys(TABLES).toSorted())
    for (const [table, way] of Object.entries(TRANSFER)) {
      if ('stays' in way) assert.ok(way.stays.length > 20, `${table} stays: say why`)
    }
  })

  test('every column of a table is exported, or has a new value in the target', () => {
    for (const table of carried) {
      const { fixed = {} } = carriedTable(table)
      const cells = new Set(cellColumns(table))
      for (const [column, { kind, only }] of Object.entries(factsOf(table))) {
        const isOfStore = column === 'project_id' || kind === 'sequence' || only !== undefined
        assert.equal(cells.has(column), !isOfStore && !Object.hasOwn(fixed, column), `${table}.${column}`)
      }
      for (const column of Object.keys({ ...fixed, ...carriedTable(table).sealed })) {
        assert.ok(Object.hasOwn(factsOf(table), column), `${table} has no ${column}`)
      }
    }
  })

  test('numbers that a database assigns are not in the file', () => {
    for (const table of carried) {
      const { memories = [] } = carriedTable(table)
      for (const column of cellColumns(table)) {
        const isNumber = /(^|_)(seq|through)$/.test(column) && factsOf(table)[column]?.kind === 'integer'
        assert.equal(isNumber, column === 'agent_seq' || memories.includes(column), `${table}.${column}`)
      }
    }
  })

  test('a column that refers to a row names its table, and whether the row must be in the file', () => {
    for (const table of carried) {
      const { names = {}, mentions = {}, memories = [], receipts = [] } = carriedTable(table)
      for (const column of cellColumns(table)) {
        if (!/_(id|of|by)$|^replaces$/.test(column) || /^(created|updated|rotated|decided|started)_by$/.test(column))
          continue
        const isSaid =
          Object.hasOwn(names, column) || Object.hasOwn(mentions, column) || [...memories, ...receipts].includes(column)
        assert.ok(isSaid || ONLY_SHOWN.has(column), `${table}.${column}: say it in TRANSFER`)
      }
      for (const of of Object.values(names)) {
        assert.ok(carried.indexOf(of as CarriedName) < carried.indexOf(table), `${of} come before ${table}`)
      }
    }
  })

  test('referenced rows are imported before the rows that refer to them', () => {
    for (const table of carried) {
      for (const [column, { rules }] of Object.entries(factsOf(table))) {
        const [, other] = / references (\w+) /.exec(rules) ?? []
        const isHere = other === undefined || carried.includes(other as CarriedName)
        const isOfTarget =
          other === 'projects' || other === 'blobs' || Object.hasOwn(carriedTable(table).fixed ?? {}, column)
        assert.ok(
          isOfTarget || (isHere && carried.indexOf(other as CarriedName) <= carried.indexOf(table)),
          `${table}.${column}`,
        )
        const { receipts = [] } = carriedTable(table)
        if (receipts.includes(column)) assert.equal(other, 'invocations', `${table}.${column}`)
        else if (isHere && other !== undefined && other !== 'memories') {
          assert.equal(
            carriedTable(table).names?.[column] ?? (column in (carriedTable(table).fixed ?? {}) ? other : undefined),
            other,
            `${table}.${column}`,
          )
        }
      }
    }
  })

  test("a table's rows are sorted by columns that are unique together", () => {
    for (const table of carried) {
      const order = orderOf(table)
      assert.ok(order.length > 0, table)
      for (const column of order)
        assert.ok(Object.hasOwn(factsOf(table as TableName as CarriedName), column), `${table}.${column}`)
    }
  })
})
