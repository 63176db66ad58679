// The login for the server: its user, scopes and end, and buttons to log in and out.

import { useEffect, useState } from "preact/hooks";
import { get, post } from "../api";
import type { Account } from "../model";
import { plainLine } from "../plain_text";
import { messageOf, state } from "../store";

export function AccountSection() {
  const [account, setAccount] = useState<Account | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | undefined>(undefined);
  const show = (work: Promise<unknown>) => {
    setBusy(true);
    work
      .then(
        (value) => {
          setAccount(value as Account);
          setError(undefined);
        },
        (reason) => setError(messageOf(reason)),
      )
      .finally(() => setBusy(false));
  };
  useEffect(() => show(get("account")), [state.value?.connection.number]);
  if (!account || account.kind === "none") return null;
  const login = account.account;
  return (
    <section aria-labelledby="settings-account">
      <h2 id="settings-account">Login</h2>
      {account.kind === "header" && <p>Requests have the credentials of the command line.</p>}
      {account.kind === "login" && !login && <p>There is no login for this server.</p>}
      {login && (
        <dl>
          <Detail name="User" value={login.user ?? "unknown"} />
          <Detail name="Issuer" value={login.issuer} />
          <Detail name="Scopes" value={login.scopes?.join(" ") || "those of the server"} />
          <Detail name="Valid until" value={validity(login.expiresAt, login.canRefresh)} />
        </dl>
      )}
      {account.kind === "login" && (
        <div class="toolbar">
          <button type="button" disabled={busy} onClick={() => show(post("account", { loggedIn: true }))}>
            {login ? "Log in again" : "Log in"}
          </button>
          {login && (
            <button type="button" disabled={busy} onClick={() => show(post("account", { loggedIn: false }))}>
              Log out
            </button>
          )}
          {busy && <span role="status">Waiting …</span>}
        </div>
      )}
      {error && (
        <p class="error" role="alert">
          {plainLine(error)}
        </p>
      )}
    </section>
  );
}

function Detail(props: { name: string; value: string }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{plainLine(props.value)}</dd>
    </div>
  );
}

function validity(expiresAt: number | null, canRefresh: boolean): string {
  const end = expiresAt === null ? "unknown" : new Date(expiresAt * 1000).toLocaleString();
  return canRefresh ? `${end}, then renewed` : end;
}
