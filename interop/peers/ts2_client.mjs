// `@modelcontextprotocol/client` 2.x as the client: every revision, and `auto` (the SDK probes with server/discover).

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { main } from './checks.mjs';

const NEWEST = '2026-07-28';

main(({ mode, command, args }) => {
  const revision = mode === 'auto' ? NEWEST : mode;
  const modern = revision === NEWEST;
  const client = new Client(
    { name: 'toolwire-interop-ts2', version: '1.0.0' },
    {
      capabilities: { elicitation: {}, sampling: {} },
      ...(modern
        ? { versionNegotiation: { mode: mode === 'auto' ? 'auto' : { pin: NEWEST } } }
        : { supportedProtocolVersions: [revision] }),
    },
  );
  const transport = new StdioClientTransport({ command, args, stderr: 'inherit' });
  const peer = {
    client,
    transport,
    revision,
    modern,
    callOptions: options => [options],
    connect: () => client.connect(transport),
    negotiatedRevision: () => client.getNegotiatedProtocolVersion(),
    readFresh: uri => client.readResource({ uri }, { cacheMode: 'bypass' }),
    async subscribe(uri) {
      if (modern) {
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        if (!subscription.honoredFilter.resourceSubscriptions?.includes(uri)) throw new Error('not honoured');
        return () => subscription.close();
      }
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
  };
  client.setRequestHandler('elicitation/create', request => peer.answerElicitation(request.params));
  client.setRequestHandler('sampling/createMessage', request => peer.answerSampling(request.params));
  client.setNotificationHandler('notifications/message', notice => peer.onLog?.(notice.params));
  client.setNotificationHandler('notifications/resources/updated', notice => peer.onResourceUpdated?.(notice.params));
  return peer;
});
