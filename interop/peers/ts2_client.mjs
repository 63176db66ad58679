// `@modelcontextprotocol/client` 2.x as the client: every revision, and `auto` (the SDK probes with server/discover).

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { main } from './run.mjs';

const NEWEST = '2026-07-28';
const BEFORE_STREAMABLE_HTTP = '2024-11-05';

main(({ mode, command, args, url, http }) => {
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
  const transport = url
    ? httpTransport(revision, url, http)
    : new StdioClientTransport({ command, args, stderr: 'inherit' });
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
        if (!subscription.honoredFilter.resourceSubscriptions?.includes(uri)) throw new Error('not accepted');
        return () => subscription.close();
      }
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    async watchLists() {
      // Legacy sessions receive list changes without a subscription.
      if (!modern) return async () => {};
      const wanted = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
      const subscription = await client.listen(wanted);
      if (Object.keys(wanted).some(key => !subscription.honoredFilter[key])) throw new Error('not accepted');
      return () => subscription.close();
    },
  };
  client.setRequestHandler('elicitation/create', request => peer.onElicitation(request.params));
  client.setRequestHandler('sampling/createMessage', request => peer.onSampling(request.params));
  client.setNotificationHandler('notifications/message', ({ params }) => peer.onLog?.(params));
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => peer.onResourceUpdated?.(params));
  for (const list of ['tools', 'prompts', 'resources']) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => peer.onListChanged?.(list));
  }
  return peer;
});

function httpTransport(revision, url, options) {
  return revision === BEFORE_STREAMABLE_HTTP
    ? new SSEClientTransport(new URL('/sse', url), options)
    : new StreamableHTTPClientTransport(new URL(url), options);
}
