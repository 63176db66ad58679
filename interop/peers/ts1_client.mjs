// `@modelcontextprotocol/sdk` 1.x as the client. It knows the handshake revisions only and always offers its newest.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LATEST_PROTOCOL_VERSION,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { main } from './run.mjs';

main(({ mode, command, args, url, http }) => {
  if (mode !== LATEST_PROTOCOL_VERSION) throw new Error(`this SDK offers ${LATEST_PROTOCOL_VERSION}, not ${mode}`);
  const client = new Client(
    { name: 'toolwire-interop-ts1', version: '1.0.0' },
    { capabilities: { elicitation: {}, sampling: {} } },
  );
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url), http)
    : new StdioClientTransport({ command, args, stderr: 'inherit' });
  // The client keeps the negotiated revision to itself, but tells its transport.
  const tellTransport = transport.setProtocolVersion?.bind(transport);
  let negotiated;
  transport.setProtocolVersion = version => {
    negotiated = version;
    tellTransport?.(version);
  };
  // With a session from before there is no negotiation, and no other way to tell the transport.
  if (http.protocolVersion) tellTransport(http.protocolVersion);

  const peer = {
    client,
    transport,
    revision: mode,
    modern: false,
    callOptions: options => [CallToolResultSchema, options],
    connect: () => client.connect(transport),
    negotiatedRevision: () => negotiated,
    readFresh: uri => client.readResource({ uri }),
    async subscribe(uri) {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    // Sessions hear of changed lists without asking.
    watchLists: async () => async () => {},
  };
  client.setRequestHandler(ElicitRequestSchema, request => peer.answerElicitation(request.params));
  client.setRequestHandler(CreateMessageRequestSchema, request => peer.answerSampling(request.params));
  client.setNotificationHandler(LoggingMessageNotificationSchema, notice => peer.onLog?.(notice.params));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, notice => peer.onResourceUpdated?.(notice.params));
  for (const [list, schema] of [
    ['tools', ToolListChangedNotificationSchema],
    ['prompts', PromptListChangedNotificationSchema],
    ['resources', ResourceListChangedNotificationSchema],
  ]) {
    client.setNotificationHandler(schema, () => peer.onListChanged?.(list));
  }
  return peer;
});
