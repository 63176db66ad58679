// `@modelcontextprotocol/sdk` 1.x as the client. It knows the handshake revisions only and always offers its newest.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LATEST_PROTOCOL_VERSION,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { main } from './checks.mjs';

main(({ mode, command, args }) => {
  if (mode !== LATEST_PROTOCOL_VERSION) throw new Error(`this SDK offers ${LATEST_PROTOCOL_VERSION}, not ${mode}`);
  const client = new Client(
    { name: 'toolwire-interop-ts1', version: '1.0.0' },
    { capabilities: { elicitation: {}, sampling: {} } },
  );
  // The client keeps the negotiated revision to itself, but tells its transport.
  const transport = new StdioClientTransport({ command, args, stderr: 'inherit' });
  let negotiated;
  transport.setProtocolVersion = version => { negotiated = version; };

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
  };
  client.setRequestHandler(ElicitRequestSchema, request => peer.answerElicitation(request.params));
  client.setRequestHandler(CreateMessageRequestSchema, request => peer.answerSampling(request.params));
  client.setNotificationHandler(LoggingMessageNotificationSchema, notice => peer.onLog?.(notice.params));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, notice => peer.onResourceUpdated?.(notice.params));
  return peer;
});
