// npm run chart: renders deploy/helm/moorage with its defaults into deploy/kubernetes/moorage.yaml, for clusters without
// Helm. Uses Helm if it is installed, or Go with Sprig, the library that Helm takes its functions from.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { parse, parseAllDocuments, stringify } from 'yaml'

const root = join(import.meta.dirname, '..')
const chart = join(root, 'deploy/helm/moorage')
const GO_LIBRARIES = '/usr/share/gocode'

const HEADER = `# Three nodes of Moorage, without Helm. Made from the chart in deploy/helm/moorage by \`npm run chart\`: change that one.
# PostgreSQL and Redis are yours. Their URLs, and the keys, are in the secret \`moorage\`:
#
#   kubectl create namespace moorage
#   kubectl -n moorage create secret generic moorage \\
#     --from-literal=DATABASE_URL=postgres://… --from-literal=REDIS_URL=redis://… \\
#     --from-literal=MOORAGE_MASTER_KEY="$(openssl rand -base64 32)" \\
#     --from-literal=MOORAGE_INIT_KEY="$(moorage keys generate)"
#   kubectl -n moorage apply -f deploy/kubernetes/moorage.yaml
#
# The first admin key is the one in that secret. It is never printed to a log.
`

type Values = Record<string, unknown>
/** An object of Kubernetes, as it is rendered. */
// oxlint-disable-next-line typescript/no-explicit-any
export type KubernetesObject = any

const find = (program: string) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))

/** What can render the chart on this machine. */
export function rendererHere(): 'helm' | 'go' | undefined {
  if (find('helm')) return 'helm'
  return find('go') && existsSync(join(GO_LIBRARIES, 'src/github.com/Masterminds/sprig')) ? 'go' : undefined
}

/** Returns a function that renders the chart with values, over its defaults, into the objects that Kubernetes gets. */
export function openRenderer(): { render(values?: Values, name?: string): KubernetesObject[]; close(): void } {
  const renderer = rendererHere()
  if (!renderer)
    throw new Error('Install Helm, or the Debian packages golang-go and golang-github-masterminds-sprig-dev')
  const folder = mkdtempSync(join(tmpdir(), 'moorage-chart-'))
  const program = join(folder, 'render')
  if (renderer === 'go') {
    const env = { ...process.env, GO111MODULE: 'off', GOPATH: GO_LIBRARIES, GOFLAGS: '' }
    execFileSync('go', ['build', '-o', program, join(root, 'scripts/render-chart.go')], { env })
  }
  const renderByHelm = (values: Values, name: string) => {
    const args = ['template', name, chart, '--namespace', 'moorage', '--values', '-']
    return execFileSync('helm', args, { input: stringify(values), encoding: 'utf8', stdio: 'pipe' })
  }
  const renderByGo = (values: Values, name: string) => {
    const defaults = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'))
    const release = { Name: name, Namespace: 'moorage', Service: 'Helm', Revision: 1, IsInstall: true }
    const input = JSON.stringify({ chart, values: merged(defaults, values), release })
    return execFileSync(program, { input, encoding: 'utf8', stdio: 'pipe' })
  }
  return {
    render(values = {}, name = 'moorage') {
      const text = (renderer === 'helm' ? renderByHelm : renderByGo)(values, name)
      return parseAllDocuments(text).map((document) => {
        if (document.errors.length > 0) throw document.errors[0]
        return document.toJS()
      })
    },
    close: () => rmSync(folder, { recursive: true }),
  }
}

/** As Helm does: maps are merged, everything else is replaced, and null takes a default away. */
export function merged(defaults: Values, values: Values): Values {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const result = { ...defaults }
  for (const [key, value] of Object.entries(values)) {
    if (value === null) delete result[key]
    else {
      const before = defaults[key]
      result[key] = isMap(value) && isMap(before) ? merged(before, value) : value
    }
  }
  return result
}

/** The text of deploy/kubernetes/moorage.yaml. */
export function plainManifest(objects: KubernetesObject[]): string {
  const texts = objects.map((object) => stringify(withoutHelm(object), { lineWidth: 120 }))
  return HEADER + texts.join('---\n')
}

function withoutHelm(object: KubernetesObject): KubernetesObject {
  const labels = { ...object.metadata.labels }
  delete labels['helm.sh/chart']
  delete labels['app.kubernetes.io/managed-by']
  return { ...object, metadata: { ...object.metadata, labels } }
}

if (import.meta.main) {
  const renderer = openRenderer()
  writeFileSync(join(root, 'deploy/kubernetes/moorage.yaml'), plainManifest(renderer.render()))
  renderer.close()
}
