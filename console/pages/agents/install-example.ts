import { agentsOf, type GalleryExample, secretNameOf } from '../../../gallery/example.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'

const isRemote = ({ definition }: GalleryExample) => definition.kind === 'remote'

/** Only people who can set secrets can install an example with a remote agent, because its calls must be signed. */
export function isInstallable(example: GalleryExample): boolean {
  if (isRemote(example) && !may('setSecret')) return false
  return !example.schedule || may('createSchedule')
}

/** Creates the agents of an example and what belongs to them. Returns the secret that signs calls, if there is one. */
export async function installExample(example: GalleryExample, name: string, url?: string): Promise<string | undefined> {
  const secret = isRemote(example) ? newSecret() : undefined
  for (const agent of agentsOf(example, name, url)) await service.agents.create(agent)
  if (secret) {
    const hosts = [new URL(url ?? example.server?.url ?? '').hostname]
    await service.secrets.set(secretNameOf(name), { value: secret, hosts })
  }
  if (example.schedule) await service.schedules.create(name, example.schedule)
  return secret
}

function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return `whsec_${btoa(String.fromCodePoint(...bytes))}`
}
