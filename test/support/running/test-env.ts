import { childEnv } from '../service/child.ts'

type Servers = {
  postgres: string
  redis: string | undefined
  chromium: string | undefined
  isAll?: boolean
  isOnce?: boolean
}

/** The environment of processes that run tests: the servers that they share, and the engines that tests run on. */
export function testEnv({ postgres, redis, chromium, isAll, isOnce }: Servers): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...childEnv(),
    MOORAGE_TEST_POSTGRES: postgres,
    MOORAGE_TEST_REDIS: redis,
    MOORAGE_TEST_CHROMIUM: chromium,
    MOORAGE_TEST_ALL: isAll ? '1' : '',
    MOORAGE_TEST_ONCE: isOnce ? '1' : '',
  }
  // A service under test must not use the developer's own servers by accident.
  delete env['DATABASE_URL']
  delete env['REDIS_URL']
  // A proxy of this machine must not stand between a test and its servers on loopback.
  delete env['NODE_USE_ENV_PROXY']
  env['NO_PROXY'] = ['127.0.0.1', 'localhost', '::1', process.env['NO_PROXY'] ?? process.env['no_proxy']].join()
  env['no_proxy'] = env['NO_PROXY']
  return env
}
