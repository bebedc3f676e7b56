const RESPONSE = /^resp_([0-9A-HJKMNP-TV-Z]{26})([0-9A-HJKMNP-TV-Z]{26})$/
const CALL = /^(?:call|fc)_([0-9A-HJKMNP-TV-Z]{26})_(\d{1,3})$/
const MESSAGE = /^msg_([0-9A-HJKMNP-TV-Z]{26})$/

/** A response's ID contains the invocation and its agent, so nothing has to be stored to find them again. */
export function responseId(request_id: string, agent_id: string): string {
  return `resp_${bareId(request_id)}${bareId(agent_id)}`
}

export function readResponseId(id: string): { request_id: string; agent_id: string } | undefined {
  const [, request, agent] = RESPONSE.exec(id) ?? []
  return request === undefined ? undefined : { request_id: `req_${request}`, agent_id: `agt_${agent}` }
}

export function completionId(request_id: string): string {
  return `chatcmpl-${bareId(request_id)}`
}

export function messageId(request_id: string): string {
  return `msg_${bareId(request_id)}`
}

/** Returns the ID of the invocation that wrote a message. */
export function readMessageId(id: string): string | undefined {
  const request = MESSAGE.exec(id)?.[1]
  return request && `req_${request}`
}

/** The ID of a call contains the invocation that handed it over, and the call's position in it. */
export function callId(request_id: string, index: number): string {
  return `call_${bareId(request_id)}_${index}`
}

export function itemIdOfCall(request_id: string, index: number): string {
  return `fc_${bareId(request_id)}_${index}`
}

/** Undefined if the call isn't ours. */
export function readCallId(id: string): { request_id: string; index: number } | undefined {
  const [, request, index] = CALL.exec(id) ?? []
  return request === undefined ? undefined : { request_id: `req_${request}`, index: Number(index) }
}

/** An ID without its prefix. */
export function bareId(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}
