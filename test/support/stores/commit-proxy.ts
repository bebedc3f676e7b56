import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Statements that change something. What nodes report about themselves is left out, because it comes at any time. */
const WRITES = /^\s*(commit\b|insert\b|update\b|delete\b|with\b[^]*\b(insert into|update|delete from)\s)/i
const OF_NODES = /"nodes"/

type CommitProxy = {
  url: string
  /**
   * The connection breaks after that many commits from now on: the commit is done, and its answer is lost. With `of`, only
   * commits count whose statements contain this text.
   */
  loseCommit(count: number, of?: string): void
  /** The next connection on which this text is sent breaks before PostgreSQL gets it. */
  breakAt(text: string): void
  /** No further commit is lost. Returns whether one was. */
  keepCommits(): boolean
  close(): Promise<void>
}

/** A way to PostgreSQL that reads the protocol, so that it knows the answers to commits. */
export async function startCommitProxy(target: URL): Promise<CommitProxy> {
  const sockets = new Set<Socket>()
  let left = 0
  let counted = ''
  let breaking: string | undefined
  let wasLost = false
  const isLost = (statements: string) => {
    if (left === 0 || !statements.includes(counted)) return false
    left -= 1
    wasLost ||= left === 0
    return left === 0
  }
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    const cycles = watchRequests(near, far, (bytes) => {
      if (breaking === undefined || !bytes.includes(breaking)) return false
      breaking = undefined
      return true
    })
    watchReplies(far, near, (isCommitted) => {
      const { isWrite = false, statements = '' } = cycles.shift() ?? {}
      return isWrite && isCommitted && isLost(statements)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    loseCommit(count, of = '') {
      left = count
      counted = of
      wasLost = false
    },
    breakAt: (text) => void (breaking = text),
    keepCommits() {
      left = 0
      return wasLost
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** What is asked between two moments at which the server is ready. */
type Cycle = { isWrite: boolean; statements: string }

/** Passes everything on, or breaks the connection. The cycles that have ended wait here for their replies. */
function watchRequests(near: Socket, far: Socket, isBreaking: (bytes: Buffer) => boolean): Cycle[] {
  // The server is ready for the first time when it has let the client in.
  const ended: Cycle[] = [{ isWrite: false, statements: '' }]
  const statements = new Map<string, string>()
  let cycle: Cycle = { isWrite: false, statements: '' }
  const end = () => {
    ended.push(cycle)
    cycle = { isWrite: false, statements: '' }
  }
  const asks = (text = '') => {
    cycle.isWrite ||= WRITES.test(text) && !OF_NODES.test(text)
    cycle.statements += text
  }
  let hasBegun = false
  const read = messagesOf()
  near.on('data', (bytes: Buffer) => {
    if (isBreaking(bytes)) return near.destroy()
    far.write(bytes)
    // The first message of a connection has no type.
    const rest = hasBegun ? bytes : bytes.subarray(bytes.readInt32BE(0))
    hasBegun = true
    for (const { type, body } of read(rest)) {
      const [first = '', second = ''] = body.toString().split('\0', 2)
      if (type === 'Q') asks(first)
      if (type === 'P') statements.set(first, second)
      if (type === 'B') asks(statements.get(second))
      if (type === 'Q' || type === 'S') end()
    }
  })
  return ended
}

/** Passes a reply on when the server is ready again, or breaks the connection instead. */
function watchReplies(far: Socket, near: Socket, isLost: (isCommitted: boolean) => boolean): void {
  let kept: Buffer[] = []
  let hasFailed = false
  let isIn = false
  const read = messagesOf()
  far.on('data', (bytes: Buffer) => {
    for (const { type, body, whole } of read(bytes)) {
      kept.push(whole)
      if (type === 'E') hasFailed = true
      const isReady = type === 'Z'
      if (isReady && isLost(!hasFailed && body.toString() === 'I')) return near.destroy()
      // Until a client is let in, and when it copies or listens, it is asked in between.
      if (isReady || !isIn || 'GNA'.includes(type)) {
        near.write(Buffer.concat(kept))
        kept = []
      }
      isIn ||= isReady
      if (isReady) hasFailed = false
    }
  })
}

/** Cuts what arrives into messages: a type of one byte, a length, and a body. */
function messagesOf() {
  let rest = Buffer.alloc(0)
  return function* (bytes: Buffer) {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const length = rest.readInt32BE(1) + 1
      const whole = rest.subarray(0, length)
      rest = rest.subarray(length)
      yield { type: String.fromCharCode(whole[0] as number), body: whole.subarray(5), whole }
    }
  }
}
