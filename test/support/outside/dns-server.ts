import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import ipaddr from 'ipaddr.js'

/** `silent` never answers. An empty list says that the name has no address of that family. */
export type Zone = Record<string, { A?: string[] | 'silent'; AAAA?: string[] | 'silent'; ttl?: number }>

export type DnsServer = {
  /** The address, as a name server is configured. */
  address: string
  /** The queries, in order, as `name type`. Repeated queries are listed again. */
  asked: string[]
}

const TYPES: Record<number, 'A' | 'AAAA'> = { 1: 'A', 28: 'AAAA' }
const NAME_ERROR = 3

/** A small DNS server on loopback. Names that aren't in its zone don't exist. */
export async function startDnsServer(t: Pick<TestContext, 'after'>, zone: Zone): Promise<DnsServer> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (question, from) => {
    const { name, type, end } = readQuestion(question)
    asked.push(`${name} ${type}`)
    const known = zone[name]
    const addresses = known?.[type] ?? []
    if (addresses === 'silent') return
    const header = Buffer.alloc(12)
    question.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8180 | (known ? 0 : NAME_ERROR), 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(addresses.length, 6)
    const answers = addresses.map((address) => record(address, known?.ttl ?? 60))
    socket.send(Buffer.concat([header, question.subarray(12, end), ...answers]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => void socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, asked }
}

function readQuestion(message: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('ascii', at + 1, at + 1 + length).toLowerCase())
    at += 1 + length
  }
  return { name: labels.join('.'), type: TYPES[message.readUInt16BE(at + 1)] ?? 'A', end: at + 5 }
}

function record(address: string, ttl: number): Buffer {
  const bytes = Buffer.from(ipaddr.parse(address).toByteArray())
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(bytes.length === 4 ? 1 : 28, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(bytes.length, 10)
  return Buffer.concat([head, bytes])
}
