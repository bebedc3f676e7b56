import { inRange, parseAddress, parseRange } from './outgoing/ip-address.ts'

export interface IpList {
  allows(address: string): boolean
}

/** A list of addresses and CIDR ranges. An empty list allows nothing. */
export function ipList(addresses: readonly string[]): IpList {
  const ranges = addresses.map((entry) => {
    const range = parseRange(entry)
    if (range === undefined) throw new Error(`"${entry}" is not an IP address or CIDR range`)
    return range
  })
  return {
    allows(text) {
      const address = parseAddress(text)
      return address !== undefined && ranges.some((range) => inRange(address, range))
    },
  }
}

/**
 * The IP address that a request really comes from. `X-Forwarded-For` is read from the right, as long as the hop that
 * wrote an entry is trusted. Entries further left are only claims by the client. Returns undefined if an entry that
 * must be trusted isn't an address. The request must then be refused.
 */
export function clientAddress(
  socketAddress: string,
  forwardedFor: string | undefined,
  trustedProxies: IpList,
): string | undefined {
  const hops = forwardedFor === undefined ? [] : forwardedFor.split(',')
  let client = parseAddress(socketAddress)?.toString()
  while (client !== undefined && trustedProxies.allows(client)) {
    const hop = hops.pop()
    if (hop === undefined) break
    client = parseAddress(hop.trim())?.toString()
  }
  return client
}

/** The key for limits per IP address. An IPv6 customer has a whole /64, so that counts as one address. */
export function addressBucket(text: string): string {
  const address = parseAddress(text)
  if (address === undefined) return 'unknown'
  if (!('parts' in address)) return address.toString()
  const network = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
