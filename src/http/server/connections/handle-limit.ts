import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { unavailable } from '../../../errors.ts'
import type { NewId } from '../../../lib/id.ts'
import type { Logger } from '../../../lib/log.ts'
import { Outage } from '../../../lib/work/outage.ts'
import { mostOpenFiles } from '../../../telemetry/open-files.ts'
import type { Telemetry } from '../../../telemetry/telemetry.ts'
import { answerRaw } from './broken-request.ts'
import type { Connections } from './connections.ts'

/** File handles that are reserved for files, the database and calls to other services. */
const RESERVED = 64
/** How many of the reserved handles may be used to tell clients that they are refused. */
const FOR_REFUSALS = 32
/** After this time without a refusal, handles are considered available again. */
const CALM_MS = 5_000
const RETRY_AFTER_MS = 5_000

type Options = { log: Logger; telemetry: Telemetry; newId: NewId; now(): number }

/**
 * Refuses connections when the process is about to run out of file handles, unless it can close an idle connection of
 * an address that has more of them. Otherwise, the system would drop connections silently, and files and the database
 * couldn't be opened.
 */
export function limitHandles(
  server: HttpServer,
  connections: Pick<Connections, 'makeRoom'>,
  { log, telemetry, newId, now }: Options,
): void {
  const most = mostOpenFiles()
  if (most === undefined) return
  const serve = server.listeners('connection') as ((socket: Socket) => void)[]
  const outage = new Outage(log, now, {
    level: 'error',
    lost: `the process has no file handles left (${most}), so connections are refused`,
    back: 'file handles are available again, so connections are accepted',
  })
  let calm: NodeJS.Timeout | undefined
  const refuse = (socket: Socket, handle: number) => {
    outage.failed()
    telemetry.refusedConnections.add(1)
    clearTimeout(calm)
    calm = setTimeout(() => outage.works(), CALM_MS).unref()
    socket.on('error', () => {})
    if (server instanceof TlsServer || handle >= most - RESERVED + FOR_REFUSALS) return socket.resetAndDestroy()
    const error = unavailable('The service has too many open connections. Try again shortly.', RETRY_AFTER_MS)
    // The request is read and dropped, because closing the socket with unread bytes would lose the client's answer.
    socket.resume()
    answerRaw(socket, error, newId('req', now()))
  }
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    const handle = handleOf(socket)
    if (handle >= most - RESERVED && !connections.makeRoom(socket)) return refuse(socket, handle)
    for (const listener of serve) listener.call(server, socket)
  })
}

/** The socket's file handle. The system assigns the lowest free number. There is no public property for it. */
function handleOf(socket: Socket): number {
  // oxlint-disable-next-line no-underscore-dangle
  return (socket as { _handle?: { fd?: number } | null })._handle?.fd ?? 0
}
