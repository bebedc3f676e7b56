import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

interface IpRange {
  network: IpAddress
  prefix: number
}

/** Accepts only dotted decimal or RFC 4291 text. A zone is dropped. An IPv4-mapped address becomes an IPv4 address. */
export function parseAddress(text: string): IpAddress | undefined {
  const kind = isIP(text)
  if (kind === 0) return undefined
  if (kind === 4) return ipaddr.IPv4.parse(text)
  const address = ipaddr.IPv6.parse(withoutDots(text.replace(/%.*/, '')))
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** One address or a CIDR range. Host bits after the prefix are ignored. */
export function parseRange(text: string): IpRange | undefined {
  const match = /^([0-9a-f.:]+)(?:\/(0|[1-9]\d{0,2}))?$/i.exec(text)
  const network = parseAddress(match?.[1] ?? '')
  if (match === null || network === undefined) return undefined
  const bits = network.kind() === 'ipv4' ? 32 : 128
  // ::ffff:10.0.0.0/104 is 10.0.0.0/8
  const mapped = network.kind() === 'ipv4' && text.includes(':')
  const prefix = match[2] === undefined ? bits : Number(match[2]) - (mapped ? 96 : 0)
  return prefix < 0 || prefix > bits ? undefined : { network, prefix }
}

export function inRange(address: IpAddress, { network, prefix }: IpRange): boolean {
  return address.kind() === network.kind() && address.match(network, prefix)
}

/**
 * Whether an address belongs to the public internet, rather than to a private, local, documentation, multicast or
 * reserved range.
 */
export function isPublic(address: IpAddress): boolean {
  const end = tunnelEnd(address)
  if (end.kind() === 'ipv4') return !SPECIAL_IPV4.some((special) => inRange(end, special))
  return inRange(end, GLOBAL_UNICAST) && !SPECIAL_IPV6.some((special) => inRange(end, special))
}

/** 6to4 and NAT64 addresses contain the IPv4 address that packets finally reach. */
function tunnelEnd(address: IpAddress): IpAddress {
  const bytes = address.toByteArray()
  if (inRange(address, SIX_TO_FOUR)) return new ipaddr.IPv4(bytes.slice(2, 6))
  if (inRange(address, NAT64)) return new ipaddr.IPv4(bytes.slice(12, 16))
  return address
}

/** ipaddr.js reads `::127.0.0.1` as `::ffff:127.0.0.1`. In hexadecimal, the address is unambiguous. */
function withoutDots(text: string): string {
  const match = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text)
  if (match === null) return text
  const [a = 0, b = 0, c = 0, d = 0] = match.slice(2).map(Number)
  return `${match[1]}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
}

function range(text: string): IpRange {
  const parsed = parseRange(text)
  if (parsed === undefined) throw new Error(`not an address range: ${text}`)
  return parsed
}

const GLOBAL_UNICAST = range('2000::/3')
const SIX_TO_FOUR = range('2002::/16')
const NAT64 = range('64:ff9b::/96')

// The IANA special-purpose registries, multicast, and one public address that serves a cloud's metadata.
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(range)

const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2620:4f:8000::/48', '3fff::/20'].map(range)
