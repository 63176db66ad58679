// Runs all checks for the server, the revision and the transport, for the TypeScript SDKs.
//
// Each check prints a line `{"check":"...","ok":true|false,"detail":"..."}`. The Rust tests list the
// expected names.

import * as everywhere from './checks.mjs';
import * as crossed from './crossed.mjs';
import * as overHttp from './http_checks.mjs';
import * as onboarding from './onboarding.mjs';

const CHECK_TIMEOUT_MS = 20_000;

/** Longer than the start of a server. Python on a busy machine needs seconds. */
const START_TIMEOUT_MS = 60_000;

/** Longer than the restart of all nodes of a server. */
const RESTART_TIMEOUT_MS = 120_000;

/**
 * Connects, runs the checks and closes. The exit code is 0 if all checks succeed, otherwise 1. `checks` has a function
 * for each server, which returns the names and the functions of its checks.
 */
export async function main(openPeer, checks = CHECKS) {
  const [server, mode, target, ...args] = process.argv.slice(2);
  const checksFor = checks[server];
  if (!checksFor || !mode || !target) {
    process.stderr.write(
      'usage: node <client>.mjs demo|crossed|fleet|faulty-fleet|onboarding <revision|auto> <url>|<server command> [arguments...]\n',
    );
    process.exit(2);
  }
  const http = target.startsWith('http://');
  const endpoint = http ? { url: target } : { command: target, args };
  // HTTP checks open more clients of the same SDK: to another URL, or with other transport options.
  const open = (changes = {}) => {
    const requests = [];
    const options = { ...endpoint, ...changes, http: { fetch: recordingFetch(requests), ...changes.http } };
    const peer = observe(openPeer({ mode, ...options }));
    const hasSessions = http && !peer.modern && peer.revision >= '2025-03-26';
    return Object.assign(peer, { open, requests, url: options.url, hasSessions });
  };

  const peer = open();
  // The checks that do not apply to this server, separated by commas.
  const excluded = (process.env.TOOLWIRE_EXCLUDED_CHECKS ?? '').split(',');
  let failures = 0;
  for (const [name, run, timeoutMs] of checksFor(peer)) {
    if (excluded.includes(name)) continue;
    const problem = await problemOf(() => run(peer), timeoutMs);
    process.stdout.write(`${JSON.stringify({ check: name, ok: problem === '', detail: problem })}\n`);
    failures += problem === '' ? 0 : 1;
    if (problem !== '' && name.endsWith('negotiate')) break;
  }
  process.exit(failures === 0 ? 0 : 1);
}

const CHECKS = {
  demo: checksForDemo,
  crossed: checksForCrossed,
  fleet: checksForFleet,
  'faulty-fleet': checksForFaultyFleet,
  onboarding: checksForOnboarding,
};

/** The server is one of another SDK. */
function checksForCrossed() {
  return [
    ['negotiate', crossed.negotiate, START_TIMEOUT_MS],
    ['list_tools', crossed.listTools],
    ['call_echo', crossed.callEcho],
    ['tool_failure', crossed.toolFailure],
    ['progress', crossed.progress],
    ['read_resource', crossed.readResource],
    ['prompt', crossed.prompt],
    ['elicit', crossed.elicit],
    ['no_transport_errors', everywhere.noTransportErrors],
    ['close', crossed.close],
  ];
}

/** The nodes of the server are restarted in the meantime. */
function checksForFleet() {
  return [
    ['negotiate', everywhere.negotiate],
    ['calls_during_restart', overHttp.callsDuringRestart, RESTART_TIMEOUT_MS],
    ['close', overHttp.close],
  ];
}

/** Nodes or the store of the server fail in the meantime. */
function checksForFaultyFleet() {
  return [
    ['negotiate', everywhere.negotiate],
    ['calls_during_fault', overHttp.callsDuringFault, RESTART_TIMEOUT_MS],
    ['close', overHttp.close],
  ];
}

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
      ['elicit_decline', everywhere.elicitDecline],
      ['elicit_cancel', everywhere.elicitCancel],
      ['approve_accept', everywhere.approveAccept],
      ['approve_decline', everywhere.approveDecline],
      ['approve_cancel', everywhere.approveCancel],
    );
  } else {
    checks.push(['elicit_unsupported', everywhere.elicitUnsupported]);
  }
  if (!modern) checks.push(['ping', everywhere.ping]);
  if (url) {
    checks.push(
      ['progress_is_streamed', overHttp.progressIsStreamed],
      ['parallel_sessions', overHttp.parallelSessions],
      ['origin_rejected', overHttp.originRejected],
      ['released_stream', overHttp.releasedStream],
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
      // These run last: no transport errors during all checks, and the process exits when its stdin closes.
      ['no_transport_errors', everywhere.noTransportErrors],
      ['exit_on_close', everywhere.exitOnClose],
    );
  }
  return checks;
}

/** Records the messages of the server and the errors of the SDK. */
function observe(peer) {
  peer.transportErrors = [];
  peer.client.onerror = error => peer.transportErrors.push(String(error));
  // All messages of the server, in order. The SDKs also call a handler that was set before theirs.
  peer.wire = [];
  peer.transport.onmessage = message => peer.wire.push(message);
  peer.cancelledTokens = new Set();
  return peer;
}

/** Returns a `fetch` that records the method, the last event id and the status of each request. */
function recordingFetch(requests) {
  return async (url, init) => {
    const request = { method: init?.method ?? 'GET', lastEventId: new Headers(init?.headers).get('last-event-id') };
    requests.push(request);
    const response = await fetch(url, init);
    request.status = response.status;
    return response;
  };
}

async function problemOf(run, timeoutMs = CHECK_TIMEOUT_MS) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result after ${timeoutMs} ms`)), timeoutMs);
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
