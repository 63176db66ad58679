// A certified OpenID provider as the authorization server of a protected toolwire server.
//
//     node authorization_server.mjs [opaque] [short] [nonces]
//
// Clients can register themselves, and users log in with any name. Tokens are issued for the requested resource. By
// default they are JWTs that are valid for an hour. `opaque` issues opaque tokens, `short` issues tokens that are valid
// for a second, and `nonces` requires a nonce in every DPoP proof. The paths below `/test/` are for the tests.

import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';

import Provider from 'oidc-provider';

/** The scopes of every resource. */
const SCOPES = ['notes:read', 'notes:write'];

const options = new Set(process.argv.slice(2));

/** The events since the last request for `/test/events`, in order. */
const events = [];

/** The access tokens that were issued and stored. */
const issuedTokens = [];

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
      dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => options.has('nonces') },
      introspection: { enabled: true, allowedPolicy: (_, client) => client.clientId === 'resource-server' },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: SCOPES.join(' '),
          audience: resource,
          accessTokenTTL: options.has('short') ? 1 : 3600,
          accessTokenFormat: options.has('opaque') ? 'opaque' : 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
      revocation: { enabled: true },
    },
  });
  provider.on('registration_create.success', (_, client) => {
    events.push('registered');
    // Clients may request scopes that they did not register.
    const { scope, ...rest } = client.metadata();
    provider.Client.adapter.upsert(client.clientId, rest);
  });
  provider.on('interaction.started', (_, prompt) => events.push(`asked for ${prompt.name}`));
  provider.on('grant.success', ctx => events.push(`granted ${ctx.oidc.params.grant_type}`));
  provider.on('grant.error', (_, error) => events.push(`rejected ${error.error}`));
  provider.on('grant.revoked', () => events.push('revoked'));
  provider.on('access_token.saved', token => issuedTokens.push(token));
  provider.on('server_error', (_, error) => process.stderr.write(`${error.stack}\n`));
  return provider;
}

/** The paths for tests: the events, a private key, and the deletion of all access tokens. */
const testPaths = {
  '/test/events': () => JSON.stringify(events.splice(0)),
  '/test/machine.pem': () => machineKey.privateKey.export({ format: 'pem', type: 'pkcs8' }),
  '/test/delete-access-tokens': async () => {
    const tokens = issuedTokens.splice(0);
    await Promise.all(tokens.map(token => token.destroy()));
    return String(tokens.length);
  },
};

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const serve = newProvider(issuer).callback();
  server.on('request', async (request, response) => {
    const testPath = testPaths[request.url];
    if (testPath) response.end(await testPath());
    else serve(request, response);
  });
  process.stderr.write(`listening on ${issuer}\n`);
});
