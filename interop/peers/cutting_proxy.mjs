// A TCP proxy that breaks one connection, in the middle of the second message of a kind.

import net from 'node:net';

const CUT_AT_OCCURRENCE = 2;

/** Starts a proxy for the server at `url`. Clients use the returned `url`. `close` stops the proxy. */
export async function cuttingProxy(url, method) {
  const { hostname, port, pathname } = new URL(url);
  const sockets = new Set();
  const proxy = { cuts: 0 };
  const server = net.createServer(client => {
    const upstream = net.connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // Broken connections are expected. If one side closes, the other one is closed, too.
      socket.on('error', () => {});
      socket.on('close', () => { client.destroy(); upstream.destroy(); sockets.delete(socket); });
    }
    client.pipe(upstream);
    let seen = '';
    upstream.on('data', bytes => {
      const before = seen.length;
      seen += bytes.toString('latin1');
      const end = proxy.cuts === 0 ? endOfOccurrence(seen, method) : undefined;
      if (end === undefined) {
        client.write(bytes);
        return;
      }
      proxy.cuts += 1;
      client.write(bytes.subarray(0, Math.max(0, end - before)), () => client.destroy());
      upstream.destroy();
    });
  });
  await new Promise(resolve => { server.listen(0, '127.0.0.1', resolve); });
  proxy.url = `http://127.0.0.1:${server.address().port}${pathname}`;
  proxy.close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return proxy;
}

function endOfOccurrence(text, part) {
  let end = 0;
  for (let occurrence = 0; occurrence < CUT_AT_OCCURRENCE; occurrence += 1) {
    const start = text.indexOf(part, end);
    if (start < 0) return undefined;
    end = start + part.length;
  }
  return end;
}
