// Runs every check that the server, the revision and the transport have, for both TypeScript SDKs.
//
// Each check prints a line `{"check":"...","ok":true|false,"detail":"..."}`; the Rust side knows which names must appear.

import * as everywhere from './checks.mjs';
import * as overHttp from './http_checks.mjs';
import * as onboarding from './onboarding.mjs';

const CHECK_TIMEOUT_MS = 20_000;

/** Connects, runs the checks, closes, and exits with the number of failures capped at 1. */
export async function main(openPeer) {
  const [server, mode, target, ...args] = process.argv.slice(2);
  const checksFor = CHECKS[server];
  if (!checksFor || !mode || !target) {
    process.stderr.write(
      'usage: node <client>.mjs demo|onboarding <revision|auto> <url>|<server command> [arguments...]\n',
    );
    process.exit(2);
  }
  const http = target.startsWith('http://');
  const endpoint = http ? { url: target } : { command: target, args };
  // HTTP checks open more clients of the same kind: to another URL, or with other options of the transport.
  const open = (changes = {}) => {
    const requests = [];
    const options = { ...endpoint, ...changes, http: { fetch: recordingFetch(requests), ...changes.http } };
    const peer = observe(openPeer({ mode, ...options }));
    const hasSessions = http && !peer.modern && peer.revision >= '2025-03-26';
    return Object.assign(peer, { open, requests, url: options.url, hasSessions });
  };

  const peer = open();
  let failures = 0;
  for (const [name, run] of checksFor(peer)) {
    const problem = await problemOf(() => run(peer));
    process.stdout.write(`${JSON.stringify({ check: name, ok: problem === '', detail: problem })}\n`);
    failures += problem === '' ? 0 : 1;
    if (problem !== '' && name.endsWith('negotiate')) break;
  }
  process.exit(failures === 0 ? 0 : 1);
}

const CHECKS = { demo: checksForDemo, onboarding: checksForOnboarding };

function checksForOnboarding({ url }) {
  return [
    ['onboarding_negotiate', onboarding.negotiate],
    ['onboarding_welcome', onboarding.welcome],
    ['onboarding_decline', onboarding.decline],
    ['no_transport_errors', everywhere.noTransportErrors],
    url ? ['close', overHttp.close] : ['exit_on_close', everywhere.exitOnClose],
  ];
}

function checksForDemo({ revision, modern, url, hasSessions }) {
  const checks = [
    ['negotiate', everywhere.negotiate],
    ['list_tools', everywhere.listTools],
    ['call_echo', everywhere.callEcho],
    ['call_add', everywhere.callAdd],
    ['parallel_calls', everywhere.parallelCalls],
    ['tool_failure', everywhere.toolFailure],
    ['handler_panic', everywhere.handlerPanic],
    ['unknown_tool', everywhere.unknownTool],
    ['invalid_arguments', everywhere.invalidArguments],
    ['large_result', everywhere.largeResult],
    ['annotated_arguments', everywhere.annotatedArguments],
    ['list_resources', everywhere.listResources],
    ['read_resource', everywhere.readResource],
    ['read_template', everywhere.readTemplate],
    ['missing_resource', everywhere.missingResource],
    ['prompt', everywhere.prompt],
    ['unknown_prompt', everywhere.unknownPrompt],
    ['complete', everywhere.complete],
    ['progress', everywhere.progress],
    ['cancel', everywhere.cancel],
    ['sampling', everywhere.sampling],
    ['logging', everywhere.logging],
    ['subscribe', everywhere.subscribe],
    ['unsubscribe', everywhere.unsubscribe],
    ['list_changed', everywhere.listChanged],
  ];
  if (revision >= '2025-06-18') {
    checks.push(
      ['structured_result', everywhere.structuredResult],
      ['elicit_accept', everywhere.elicitAccept],
      ['elicit_refuse', everywhere.elicitRefuse],
      ['elicit_cancel', everywhere.elicitCancel],
      ['approve_accept', everywhere.approveAccept],
      ['approve_refuse', everywhere.approveRefuse],
      ['approve_cancel', everywhere.approveCancel],
    );
  } else {
    checks.push(['elicit_impossible', everywhere.elicitImpossible]);
  }
  if (!modern) checks.push(['ping', everywhere.ping]);
  if (url) {
    checks.push(
      ['progress_is_streamed', overHttp.progressIsStreamed],
      ['parallel_sessions', overHttp.parallelSessions],
      ['origin_refused', overHttp.originRefused],
      ['server_sent_away', overHttp.serverSentAway],
    );
    if (hasSessions) {
      checks.push(
        ['cancelled_stream_ends', overHttp.cancelledStreamEnds],
        ['resume_after_cut', overHttp.resumeAfterCut],
        ['listening_resumes', overHttp.listeningResumes],
        ['session_end', overHttp.sessionEnd],
      );
    }
    checks.push(['no_transport_errors', everywhere.noTransportErrors], ['close', overHttp.close]);
  } else {
    checks.push(
      ['stray_print', everywhere.strayPrint],
      // Last: the transport must have stayed quiet all along, and the process must leave when its stdin closes.
      ['no_transport_errors', everywhere.noTransportErrors],
      ['exit_on_close', everywhere.exitOnClose],
    );
  }
  return checks;
}

/** Keeps what the server sends, and what the SDK makes of it. */
function observe(peer) {
  peer.transportErrors = [];
  peer.client.onerror = error => peer.transportErrors.push(String(error));
  // What the server really sent, in order: the SDKs keep and chain a handler that was there before them.
  peer.wire = [];
  peer.transport.onmessage = message => peer.wire.push(message);
  peer.cancelledTokens = new Set();
  return peer;
}

/** `fetch` that also notes what was asked with which event id, and the status it got. */
function recordingFetch(requests) {
  return async (url, init) => {
    const request = { method: init?.method ?? 'GET', lastEventId: new Headers(init?.headers).get('last-event-id') };
    requests.push(request);
    const response = await fetch(url, init);
    request.status = response.status;
    return response;
  };
}

async function problemOf(run) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result after ${CHECK_TIMEOUT_MS} ms`)), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([run(), timeout]);
    return '';
  } catch (error) {
    return String(error?.message ?? error);
  } finally {
    clearTimeout(timer);
  }
}
