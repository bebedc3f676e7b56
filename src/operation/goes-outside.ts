/**
 * Thrown by a run that was to stay inside and finds that it would not, before it has had any effect. Its
 * Idempotency-Key is then claimed, and the run begins again.
 */
export class GoesOutside extends Error {}
