// The fields of settings. A change takes effect at once.

export function Check(props: { label: string; value: boolean; onChange: (value: boolean) => void }) {
  return (
    <label class="line">
      <input type="checkbox" checked={props.value} onChange={(event) => props.onChange(event.currentTarget.checked)} />
      {props.label}
    </label>
  );
}

export function NumberSetting(props: { label: string; value: number | null; onSave: (value: number | null) => void }) {
  return (
    <label class="line">
      {props.label}
      <input
        type="number"
        min="0"
        value={props.value === null ? "" : String(props.value)}
        onChange={(event) => {
          const text = event.currentTarget.value;
          props.onSave(text === "" ? null : Number(text));
        }}
      />
    </label>
  );
}
