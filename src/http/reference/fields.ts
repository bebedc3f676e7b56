import { type Html, html, prose } from './html.ts'
import type { OpenApi, Parameter, ShownSchema } from './openapi-document.ts'

const DEEPEST = 4

/** A list of an object's fields and what each accepts. Nested objects can be expanded. */
export function fieldList(schema: ShownSchema, document: OpenApi, depth = 0): Html {
  const shape = objectIn(schema, document)
  const required = shape.required ?? []
  const rows = Object.entries(shape.properties ?? {}).map(([name, field]) => {
    const inner = innerObject(field, document)
    const hasInner = depth < DEEPEST && inner && Object.keys(inner.properties ?? {}).length > 0
    return html`<li>
      <div class="field"><code class="name">${name}</code> <span class="type">${typeOf(field, document)}</span>
      ${required.includes(name) && html`<span class="required">required</span>`}</div>
      ${describe(field, document)}
      ${hasInner && html`<details><summary>fields</summary>${fieldList(inner, document, depth + 1)}</details>`}
    </li>`
  })
  return html`<ul class="fields">${rows}</ul>`
}

export function parameterList(parameters: Parameter[], document: OpenApi): Html {
  const rows = parameters.map(
    ({ name, required, description, schema, in: place }) => html`<li>
      <div class="field"><code class="name">${name}</code> <span class="type">${typeOf(schema, document)}</span>
      <span class="place">${place}</span> ${required && html`<span class="required">required</span>`}</div>
      ${description && html`<p>${prose(description)}</p>`}${limits(schema)}
    </li>`,
  )
  return html`<ul class="fields">${rows}</ul>`
}

function describe(field: ShownSchema, document: OpenApi): Html {
  const resolved = resolve(field, document)
  const text = field.description ?? resolved.description
  return html`${text && html`<p>${prose(text)}</p>`}${limits(withoutNull(resolved))}`
}

/** What the type doesn't show: bounds, choices and the default. */
function limits(schema: ShownSchema): Html {
  const { minimum, maximum, minLength, maxLength, pattern } = schema
  const choices = schema.enum ?? schema.items?.enum
  const fallback = schema.default
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  const said = [
    isBounded && `${minimum ?? 0} to ${maximum}`,
    !isBounded && minimum !== undefined && minimum > 0 && `at least ${minimum}`,
    maxLength !== undefined && `${minLength ? `${minLength} to` : 'up to'} ${maxLength} characters`,
    pattern !== undefined && pattern.length <= 60 && html`<code>${pattern}</code>`,
    choices !== undefined && html`one of ${choices.map((choice) => html`<code>${String(choice)}</code> `)}`,
    fallback !== undefined && fallback !== null && html`default <code>${JSON.stringify(fallback)}</code>`,
  ].filter((part) => part !== false)
  return said.length === 0 ? html`` : html`<p class="limits">${said.map((part) => html`<span>${part}</span>`)}</p>`
}

function typeOf(schema: ShownSchema, document: OpenApi): string {
  if (schema.$ref?.includes('__schema')) return 'any'
  const shape = resolve(schema, document)
  const options = shape.anyOf ?? shape.oneOf
  if (options) return [...new Set(options.map((option) => typeOf(option, document)))].join(' or ')
  if ('const' in shape) return JSON.stringify(shape.const)
  if (shape.type === 'array') return `array of ${typeOf(shape.items ?? {}, document)}`
  if (shape.format === 'date-time') return 'time'
  return shape.type ? [shape.type].flat().join(' or ') : shape.enum ? 'string' : 'any'
}

function resolve(schema: ShownSchema, { components }: OpenApi): ShownSchema {
  if (!schema.$ref) return schema
  return components.schemas[schema.$ref.slice('#/components/schemas/'.length)] ?? {}
}

function withoutNull(schema: ShownSchema): ShownSchema {
  const options = (schema.anyOf ?? []).filter(({ type }) => type !== 'null')
  return options.length === 1
    ? { ...options[0], ...(schema.default !== undefined && { default: schema.default }) }
    : schema
}

/** The object that a field contains: directly, in a list, or as one of several kinds. */
function innerObject(field: ShownSchema, document: OpenApi): ShownSchema | undefined {
  if (field.$ref?.includes('__schema')) return undefined
  const shape = withoutNull(resolve(field, document))
  if (shape.type === 'array') return innerObject(shape.items ?? {}, document)
  const options = shape.anyOf ?? shape.oneOf
  if (options) return merge(options.map((option) => objectIn(option, document)))
  return shape.type === 'object' ? shape : undefined
}

function objectIn(schema: ShownSchema, document: OpenApi): ShownSchema {
  const shape = resolve(schema, document)
  const options = shape.anyOf ?? shape.oneOf
  return options ? merge(options.map((option) => objectIn(option, document))) : shape
}

function merge(shapes: ShownSchema[]): ShownSchema {
  const [first = {}, ...others] = shapes
  return {
    properties: Object.assign({}, ...shapes.toReversed().map(({ properties }) => properties)),
    required: (first.required ?? []).filter((name) => others.every(({ required = [] }) => required.includes(name))),
  }
}
