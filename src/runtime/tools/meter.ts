/** Thrown when a check costs more than its limit. */
export class TooCostly extends Error {}

/**
 * What makes every step of a check more expensive: the most keys of an object, the longest key and the longest text in
 * the value.
 */
export type Bulk = { keys: number; keyLength: number; textLength: number }

/**
 * Counts what a check costs, in units of about a microsecond. The rates were measured: see
 * test/runtime-arguments.test.ts.
 */
export class Meter {
  #left = 0
  #factor = 1
  #textUnits = 0

  start(units: number, { keys, keyLength, textLength }: Bulk): void {
    this.#left = units
    this.#factor = 1 + over(100, keys) / 10 + over(50, keyLength) / 15
    this.#textUnits = textLength / 150
  }

  spend(step: number, measuresText: boolean): void {
    this.#left -= step * this.#factor + (measuresText ? this.#textUnits : 0)
    if (this.#left < 0) throw new TooCostly()
  }
}

/** A schema that is charged for each evaluation. */
export class Metered {
  readonly #meter: Meter
  readonly #step: number
  readonly #measuresText: boolean

  constructor(meter: Meter, keywords: Readonly<Record<string, unknown>>) {
    const { properties, required, dependentRequired, dependentSchemas, enum: options, const: option } = keywords
    const maps = sizeOf(properties) + sizeOf(dependentRequired) + sizeOf(dependentSchemas)
    const lists = sizeOf(required) + sizeOf(options)
    const text = options === undefined && option === undefined ? 0 : JSON.stringify([options, option]).length
    const number = keywords.multipleOf === undefined ? 0 : 5
    this.#meter = meter
    this.#step = 1 + over(20, maps) / 3 + over(20, lists) / 10 + over(500, text) / 500 + number
    this.#measuresText = keywords.minLength !== undefined || keywords.maxLength !== undefined
  }

  /**
   * The validator reads every keyword of a schema once for each value that it checks. To read this one, which we never
   * use, charges for the evaluation.
   */
  get $recursiveRef(): undefined {
    this.#meter.spend(this.#step, this.#measuresText)
    return undefined
  }
}

function sizeOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}

/** How much is above the size that every step includes. */
function over(usual: number, size: number): number {
  return Math.max(0, size - usual)
}
