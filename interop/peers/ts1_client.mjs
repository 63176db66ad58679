// `@modelcontextprotocol/sdk` 1.x as the client. It supports legacy revisions only and always offers its newest one.

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
  // The client does not expose the negotiated revision, but passes it to its transport.
  const setTransportVersion = transport.setProtocolVersion?.bind(transport);
  let negotiated;
  transport.setProtocolVersion = version => {
    negotiated = version;
    setTransportVersion?.(version);
  };
  // An earlier session is resumed without negotiation, so the transport gets the revision here.
  if (http.protocolVersion) setTransportVersion(http.protocolVersion);

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
    // Legacy sessions receive list changes without a subscription.
    watchLists: async () => async () => {},
  };
  client.setRequestHandler(ElicitRequestSchema, request => peer.onElicitation(request.params));
  client.setRequestHandler(CreateMessageRequestSchema, request => peer.onSampling(request.params));
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => peer.onLog?.(params));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => peer.onResourceUpdated?.(params));
  for (const [list, schema] of [
    ['tools', ToolListChangedNotificationSchema],
    ['prompts', PromptListChangedNotificationSchema],
    ['resources', ResourceListChangedNotificationSchema],
  ]) {
    client.setNotificationHandler(schema, () => peer.onListChanged?.(list));
  }
  return peer;
});
