export type Attributes = Record<string, string | number | boolean | string[]>

export type SpanKind = 'server' | 'client' | 'internal'

/** A piece of work within a trace. */
export type Span = {
  /** The header (W3C Trace Context) for calls that this work makes: it says which trace they belong to. */
  readonly traceparent: string
  /** Whether messages and answers may be shown, or only sizes and names. */
  readonly showsContent: boolean
  child(name: string, kind: SpanKind, attributes: Attributes): Span
  set(attributes: Attributes): void
  /** Something that happened at one moment of the work. */
  event(name: string, attributes: Attributes): void
  /** `error` is the type of what went wrong. */
  end(error?: string): void
}

/** There is one only where the operator has named a collector. */
export type Tracer = {
  /** `traceparent` is what the caller sent, if anything. */
  begin(name: string, kind: SpanKind, attributes: Attributes, traceparent: string | undefined): Span
  close(): Promise<void>
}
