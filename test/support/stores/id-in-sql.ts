/** SQL for the ID of invocation number `i`. It begins with its time in milliseconds, like the service's IDs. */
export function idInSql(time: string, prefix = 'req'): string {
  const letters = [45, 40, 35, 30, 25, 20, 15, 10, 5, 0].map(
    (bits) => `substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', cast(1 + ((${time} >> ${bits}) & 31) as integer), 1)`,
  )
  return `'${prefix}_' || ${letters.join(' || ')} || (1000000000000000 + i)`
}
