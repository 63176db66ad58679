// A certified OpenID provider, as the authorization server of a protected server of ours.
//
//     node authorization_server.mjs [opaque] [short] [nonces]
//
// Clients may register themselves; its pages let any name log in. Tokens are for the resource that was asked for, and are
// JWTs, or opaque ones, that last an hour, or, short ones, a second. `nonces` wants a nonce in every proof of possession.
// What the tests ask for is below `/test/`.

import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

import Provider from 'oidc-provider';

/** The scopes of every resource. */
const SCOPES = ['notes:read', 'notes:write'];

const words = new Set(process.argv.slice(2));

/** What happened since it was asked for last, in order. */
const seen = [];

/** The access tokens that were given out and can be looked up. */
const given = [];

const machineKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });

function newProvider(issuer) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const provider = new Provider(issuer, {
    jwks: { keys: [privateKey.export({ format: 'jwk' })] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    clients: [
      {
        client_id: 'machine',
        client_secret: 'secret of the machine',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: 'machine-with-key',
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        jwks: { keys: [{ ...machineKey.publicKey.export({ format: 'jwk' }), kid: 'machine', use: 'sig', alg: 'ES256' }] },
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: 'resource-server',
        client_secret: 'secret of the resource server',
        grant_types: [],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ['openid', 'offline_access', ...SCOPES],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => words.has('nonces') },
      introspection: { enabled: true, allowedPolicy: (_, client) => client.clientId === 'resource-server' },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: SCOPES.join(' '),
          audience: resource,
          accessTokenTTL: words.has('short') ? 1 : 3600,
          accessTokenFormat: words.has('opaque') ? 'opaque' : 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
      revocation: { enabled: true },
    },
  });
  provider.on('registration_create.success', (_, client) => {
    seen.push('registered');
    // Clients may ask for more than they had in mind when they registered.
    const { scope, ...rest } = client.metadata();
    provider.Client.adapter.upsert(client.clientId, rest);
  });
  provider.on('interaction.started', (_, prompt) => seen.push(`asked for ${prompt.name}`));
  provider.on('grant.success', ctx => seen.push(`granted ${ctx.oidc.params.grant_type}`));
  provider.on('grant.error', (_, error) => seen.push(`rejected ${error.error}`));
  provider.on('grant.revoked', () => seen.push('revoked'));
  provider.on('access_token.saved', token => given.push(token));
  provider.on('server_error', (_, error) => process.stderr.write(`${error.stack}\n`));
  return provider;
}

/** What the tests ask for: what happened, a private key, or that all access tokens are lost. */
const forTests = {
  '/test/seen': () => JSON.stringify(seen.splice(0)),
  '/test/machine.pem': () => machineKey.privateKey.export({ format: 'pem', type: 'pkcs8' }),
  '/test/lose': async () => {
    const lost = given.splice(0);
    await Promise.all(lost.map(token => token.destroy()));
    return String(lost.length);
  },
};

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const serve = newProvider(issuer).callback();
  server.on('request', async (request, response) => {
    const answer = forTests[request.url];
    if (answer) response.end(await answer());
    else serve(request, response);
  });
  process.stderr.write(`listening on ${issuer}\n`);
});
