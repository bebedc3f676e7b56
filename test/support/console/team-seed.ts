import assert from 'node:assert/strict'
import { type OidcIssuer, startOidcIssuer } from '../outside/oidc-issuer.ts'
import { inProject, type Service } from '../service/service.ts'
import { PersonTab } from './person-tab.ts'

const ROLES = [
  { group: 'harbour-masters', project: '*', role: 'admin' },
  { group: 'shop', project: 'shop', role: 'developer' },
  { group: 'shop', project: 'default', role: 'viewer' },
]

const PEOPLE = [
  { name: 'Ada Lovelace', email: 'ada@example.com', groups: ['harbour-masters'] },
  { name: 'Edsger Dijkstra', email: 'edsger@example.com', groups: ['shop'] },
  { name: 'Grace Hopper', email: 'grace@example.com', groups: ['shop'] },
  { name: 'Katherine Johnson', email: 'katherine@example.com', groups: [] },
]

/** An identity provider with example people, and the settings of a service that uses it. */
export async function startTeamIssuer(): Promise<{ issuer: OidcIssuer; settings: Record<string, string> }> {
  const issuer = await startOidcIssuer()
  const oidc = [issuer.entry({ label: 'Harbour login', roles: ROLES })]
  return { issuer, settings: { MOORAGE_CONSOLE__OIDC: JSON.stringify(oidc) } }
}

/** Creates a team in three projects. Returns the paths of the pages that show them. */
export async function fillForTeam(service: Service, issuer: OidcIssuer): Promise<Record<string, string>> {
  const post = async (path: string, body: object, project = service) => {
    const { status, text, body: reply } = await project.call('POST', path, { body })
    assert.ok(status < 300, text)
    return reply.data
  }
  issuer.serve(service.url)
  const limits = { requests_per_minute: 600, concurrent_runs: 20, retention_days: 90 }
  await post('/v1/projects', { name: 'shop', description: 'Sells rope and answers customers', limits })
  await post('/v1/projects', { name: 'trial', description: 'To try things' })
  const shop = inProject(service, 'shop')
  await post('/v1/agents', { name: 'clerk', description: 'Answers the customers of the shop' }, shop)
  for (const { name, email, groups } of PEOPLE) {
    issuer.accounts.set(email, { name, email, email_verified: true, groups })
    const tab = new PersonTab(() => service)
    await tab.signInAs(issuer, email)
  }
  const { body } = await service.call('GET', '/v1/people')
  const edsger = body.data.find(({ name }: { name: string }) => name === PEOPLE[1]?.name)
  await shop.call('PUT', `/v1/people/${edsger.id}/role`, { body: { role: 'admin' } })
  for (const email of ['alan@example.com', 'barbara@example.com']) {
    await post('/v1/invitations', { email, role: 'developer' }, shop)
  }
  return {
    projects: '/projects?project=shop',
    people: '/people?project=shop&view=everybody',
    person: `/people/${edsger.id}?project=shop`,
    invitations: '/people?project=shop&view=invitations',
  }
}
