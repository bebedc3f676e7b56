/** A copy of the values with room for twice as many. */
export function grown<Values extends Float64Array | Int32Array | Uint16Array | Uint8Array | Int8Array>(
  values: Values,
): Values {
  const larger = new (values.constructor as new (length: number) => Values)(values.length * 2)
  larger.set(values)
  return larger
}
