import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { until } from '../../support/running/until.ts'
import { startService } from '../../support/service/service.ts'
import { startRedis } from '../../support/stores/redis.ts'

test('a Redis that accepts connections but does not answer is disconnected, and used again when it answers', async (t) => {
  const redis = await startRedis()
  t.after(() => redis.close())
  const { hostname, port } = new URL(redis.url)
  const sockets = new Set<Socket>()
  let isDeaf = true
  const door = createServer((near) => {
    sockets.add(near.on('error', () => {}))
    if (isDeaf) return
    const far = connect(Number(port), hostname)
    sockets.add(far.on('error', () => {}))
    near.pipe(far).pipe(near)
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    door.close()
  })
  await once(door.listen(0, '127.0.0.1'), 'listening')
  const url = new URL(redis.url)
  url.port = String((door.address() as AddressInfo).port)

  const service = await startService('sqlite', { REDIS_URL: url.href })
  t.after(() => service.stop())
  assert.equal((await service.call('GET', '/v1/keys/self')).status, 200, 'it serves without Redis')
  await until('it is said', () => /Redis isn't responding/.test(service.log()))
  isDeaf = false
  await until('it speaks with Redis', () => /Redis is responding again/.test(service.log()))
})
