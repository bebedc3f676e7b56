/**
 * Bodies that the channels accept, by the paths of their routes. Every value in them can be replaced by a nasty one.
 */
export const DOOR_BODIES: Readonly<Record<string, readonly object[]>> = {
  '/v1/chat/completions': [
    {
      model: 'hello',
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'Hello' }],
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'found' },
        { role: 'user', content: 'Hello' },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'look', description: 'Looks', parameters: { type: 'object', properties: { a: {} } } },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'look' } },
      metadata: { session_id: 's' },
      stop: ['x'],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
      user: 'u',
      logit_bias: {},
      stream_options: { include_usage: true },
    },
  ],
  '/v1/responses': [
    {
      model: 'hello',
      input: [
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'found' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      ],
      instructions: 'Be kind',
      tools: [{ type: 'function', name: 'look', description: 'Looks', parameters: { type: 'object' } }],
      metadata: { a: 'b' },
      text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' } } },
      conversation: { id: 'c' },
      previous_response_id: null,
      context_management: [],
    },
  ],
  '/v1/mcp': mcpBodies(),
  '/v1/agents/{agent_id}/mcp': mcpBodies(),
  '/v1/agents/{agent_id}/a2a': [
    rpc('SendMessage', {
      message: {
        messageId: 'm',
        role: 'ROLE_USER',
        contextId: 'c',
        parts: [{ text: 'Hello' }],
        metadata: { a: 1 },
        extensions: ['https://example.com'],
        referenceTaskIds: ['t'],
      },
      configuration: {
        acceptedOutputModes: ['text/plain'],
        taskPushNotificationConfig: { url: 'https://example.com', authentication: { scheme: 'Bearer' } },
      },
      metadata: { a: 1 },
    }),
    rpc('GetTask', { id: 't', historyLength: 1 }),
    rpc('ListTasks', { contextId: 'c', pageSize: 10 }),
    rpc('CreateTaskPushNotificationConfig', { taskId: 't', url: 'https://example.com' }),
    rpc('NoSuchMethod', { a: [1] }),
  ],
  '/v1/agents/{agent_id}/ag-ui': [
    {
      threadId: 't',
      runId: 'r',
      protocolVersion: '1.0',
      state: { a: [1] },
      messages: [
        { id: '1', role: 'user', content: [{ type: 'text', text: 'Hello' }] },
        { id: '2', role: 'assistant', toolCalls: [{ id: 'c', function: { name: 'look', arguments: '{}' } }] },
        { id: '3', role: 'tool', toolCallId: 'c', content: 'found' },
        { id: '4', role: 'user', content: 'Hello' },
      ],
      tools: [{ name: 'look', description: 'Looks', parameters: { type: 'object' } }],
      context: [{ description: 'a', value: 'b' }],
      forwardedProps: { user_id: 'u' },
    },
    { threadId: 't', runId: 'r', messages: [], resume: [{ interruptId: 'int_x', status: 'resolved', payload: true }] },
  ],
}

function mcpBodies(): object[] {
  const client = {
    protocolVersion: '2025-11-25',
    capabilities: { experimental: { a: {} }, roots: { listChanged: true } },
    clientInfo: { name: 'n', version: '1', icons: [{ src: 'https://example.com', sizes: ['1x1'] }] },
  }
  return [
    rpc('initialize', client),
    rpc('tools/list', { cursor: 'c' }),
    rpc('tools/call', {
      name: 'hello',
      arguments: { message: 'Hello', context: { user_id: 'u' } },
      _meta: { progressToken: 'p' },
    }),
    rpc('tasks/get', { taskId: 't' }),
    rpc('no/such/method', { a: [1] }),
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'r' } },
  ]
}

function rpc(method: string, params: object): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}
