// Faults on demand, which show how the server and its client behave if something fails.

import { request } from "../api";
import type { JsonObject } from "../json";
import type { Faults, Target } from "../model";
import { Check, NumberSetting } from "../widgets/setting_fields";

export function FaultsSection(props: { target: Target; faults: Faults; change: (value: JsonObject) => void }) {
  const { target, faults } = props;
  const fault = (value: JsonObject) => props.change({ faults: { ...(faults as unknown as JsonObject), ...value } });
  return (
    <section aria-labelledby="settings-faults">
      <h2 id="settings-faults">Faults</h2>
      <p class="hint">They show how the server and its client behave if something fails.</p>
      <NumberSetting label="Delay each request by ms" value={faults.delayMs} onSave={(value) => fault({ delayMs: value ?? 0 })} />
      {target.transport === "http" && (
        <>
          <NumberSetting
            label="Cut each HTTP response after bytes"
            value={faults.cutAfterBytes}
            onSave={(value) => fault({ cutAfterBytes: value })}
          />
          <Check
            label="Send an expired token"
            value={faults.expiredToken}
            onChange={(value) => fault({ expiredToken: value })}
          />
          <Check
            label="Receive each notification twice"
            value={faults.repeatNotifications}
            onChange={(value) => fault({ repeatNotifications: value })}
          />
          <button type="button" onClick={() => void request("DELETE", "streams")}>
            Drop open streams
          </button>
        </>
      )}
    </section>
  );
}
