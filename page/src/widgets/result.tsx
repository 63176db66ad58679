// The outcome of a call. Text of the server is always shown as text.

import { useEffect, useMemo, useState } from "preact/hooks";
import { format, isObject, type Json, type JsonObject } from "../json";
import type { CallOutcome } from "../model";
import { plainLine, plainText } from "../plain_text";
import { asArray } from "../schema/resolve";
import { useCallVerdict } from "../schema/verdict";
import { Boundary } from "./boundary";
import { Conversation } from "./conversation";
import { CopyButton } from "./copy_button";
import { JsonTree } from "./json_tree";
import { Parts } from "./parts";

/** Text beyond this number of characters is folded. */
const FOLDED = 20_000;

/** The number of blocks of content that are laid out at a time. */
const BLOCKS = 20;

/** The media types that are shown as images. SVG can contain scripts, so it is shown as text. */
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

export function Outcome(props: { outcome: CallOutcome; outputSchema?: Json | undefined }) {
  const { outcome } = props;
  const [raw, setRaw] = useState(false);
  const size = outcome.bytes === undefined ? "" : `, ${sizeText(outcome.bytes)}`;
  const result = outcome.result;
  const isToolError = isObject(result) && result.isError === true;
  const title = outcome.state === "cancelled" ? "Cancelled" : outcome.error ? "Error" : isToolError ? "Tool error" : "Result";
  return (
    <section class={`outcome${outcome.error || isToolError ? " failed" : ""}`} aria-label="Result">
      <div class="toolbar">
        <h3>{title}</h3>
        <span class="hint">
          {outcome.tookMs === undefined ? "" : `${outcome.tookMs} ms`}
          {size}
        </span>
        {outcome.traceId !== undefined && (
          <>
            <span class="hint">
              trace <code>{plainLine(outcome.traceId)}</code>
            </span>
            <CopyButton text={() => outcome.traceId ?? ""} label="Copy" name="Copy trace id" />
          </>
        )}
        {result !== undefined && (
          <>
            <button type="button" class="small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
              Raw
            </button>
            <CopyButton text={() => format(result)} label="Copy" name="Copy result" />
          </>
        )}
      </div>
      <Conversation inputs={outcome.inputs} />
      {outcome.error && <ErrorDetails error={outcome.error} />}
      {result !== undefined && raw && <LongText text={format(result)} />}
      {result !== undefined && !raw && (
        <Boundary key={outcome.id} name="The result">
          <Result result={result} call={outcome.id} outputSchema={isToolError ? undefined : props.outputSchema} />
        </Boundary>
      )}
    </section>
  );
}

function ErrorDetails(props: { error: NonNullable<CallOutcome["error"]> }) {
  const { error } = props;
  return (
    <div role="alert">
      <p class="error">
        {error.code !== undefined && <code>{error.code} </code>}
        {plainText(error.message)}
      </p>
      {error.advice && <p class="hint">{plainText(error.advice)}</p>}
      {error.data !== undefined && <JsonTree value={error.data} label="data" open />}
    </div>
  );
}

function Result(props: { result: Json; call: number; outputSchema: Json | undefined }) {
  const { result } = props;
  if (!isObject(result)) return <JsonTree value={result} open />;
  const { content, structuredContent, messages, contents, ...others } = result;
  return (
    <>
      <Blocks blocks={asArray(content)} />
      <Parts
        items={asArray(messages)}
        size={BLOCKS}
        render={(message, index) => (
          <div class="message" key={index}>
            <span class="badge">{plainLine(String(isObject(message) ? message.role : "message"))}</span>
            {isObject(message) && (
              <Blocks blocks={Array.isArray(message.content) ? message.content : [message.content as Json]} />
            )}
          </div>
        )}
      />
      <Parts items={asArray(contents)} size={BLOCKS} render={(one, index) => <ResourceContents key={index} contents={one} />} />
      {structuredContent !== undefined && (
        <Structured value={structuredContent} call={props.call} schema={props.outputSchema} />
      )}
      {Object.keys(others).length > 0 && <JsonTree value={others} label="other members" />}
    </>
  );
}

function Structured(props: { value: Json; call: number; schema: Json | undefined }) {
  const { verdict, violations, reason } = useCallVerdict(props.call, isObject(props.schema) ? props.schema : undefined) ?? {};
  return (
    <div class="content">
      <div class="toolbar">
        <span class="badge">structured content</span>
        {verdict === "unchecked" && <span class="warning">not checked, because {plainLine(reason ?? "")}</span>}
        {verdict === "valid" && <span class="ok">matches the output schema</span>}
        {verdict === "invalid" && <span class="error">violates the output schema</span>}
      </div>
      {violations && (
        <ul class="error">
          {violations.map((one, index) => (
            <li key={index}>{plainLine(one)}</li>
          ))}
        </ul>
      )}
      <JsonTree value={props.value} open />
    </div>
  );
}

function Blocks(props: { blocks: Json[] }) {
  return <Parts items={props.blocks} size={BLOCKS} render={(block, index) => <Content key={index} block={block} />} />;
}

function Content(props: { block: Json }) {
  const { block } = props;
  if (!isObject(block)) return <JsonTree value={block} open />;
  const { type, text, data, mimeType, uri, resource } = block;
  const badge = <span class="badge">{plainLine(String(type))}</span>;
  if (type === "text" && typeof text === "string") {
    return (
      <div class="content">
        {badge}
        <LongText text={text} />
        <Extra block={block} known={["type", "text"]} />
      </div>
    );
  }
  if ((type === "image" || type === "audio") && typeof data === "string") {
    return (
      <div class="content">
        {badge}
        <Media data={data} mimeType={String(mimeType ?? "")} />
        <Extra block={block} known={["type", "data", "mimeType"]} />
      </div>
    );
  }
  if (type === "resource_link" && typeof uri === "string") {
    return (
      <div class="content">
        {badge}
        <Address uri={uri} />
        <Extra block={block} known={["type", "uri"]} />
      </div>
    );
  }
  if (type === "resource" && isObject(resource)) {
    return (
      <div class="content">
        {badge}
        <ResourceContents contents={resource} />
      </div>
    );
  }
  return <JsonTree value={block} label={String(type ?? "block")} open />;
}

function Extra(props: { block: JsonObject; known: string[] }) {
  const others = Object.entries(props.block).filter(([name]) => !props.known.includes(name));
  return others.length > 0 ? <JsonTree value={Object.fromEntries(others)} label="other members" /> : null;
}

function ResourceContents(props: { contents: Json }) {
  const { contents } = props;
  if (!isObject(contents)) return <JsonTree value={contents} />;
  const { uri, mimeType, text, blob } = contents;
  return (
    <div class="content">
      <p>
        <code>{plainLine(String(uri ?? ""))}</code> <span class="hint">{plainLine(String(mimeType ?? ""))}</span>
      </p>
      {typeof text === "string" && <LongText text={text} />}
      {typeof blob === "string" && <Media data={blob} mimeType={String(mimeType ?? "")} />}
      <Extra block={contents} known={["uri", "mimeType", "text", "blob"]} />
    </div>
  );
}

/** The address of a resource. Only web pages are links, and they open only after a click. */
export function Address(props: { uri: string }) {
  const { uri } = props;
  const isWeb = /^https?:\/\//i.test(uri);
  return isWeb ? (
    <a href={uri} target="_blank" rel="noopener noreferrer">
      {plainText(uri)}
    </a>
  ) : (
    <code>{plainText(uri)}</code>
  );
}

function Media(props: { data: string; mimeType: string }) {
  const { data, mimeType } = props;
  const type = mimeType.toLowerCase().split(";")[0]?.trim() ?? "";
  const isImage = IMAGES.includes(type);
  const isAudio = /^audio\/[a-z0-9.+-]+$/.test(type);
  const bytes = useMemo(() => decoded(data), [data]);
  const [url, setUrl] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (!bytes) return undefined;
    // Other types are only offered as a file, and never as a page.
    const blob = new Blob([bytes], { type: isImage || isAudio ? type : "application/octet-stream" });
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  if (!bytes) return <p class="error">The data is not valid base64.</p>;
  return (
    <div>
      {url && isImage && <img src={url} alt={`Image of the server, ${type}`} />}
      {url && isAudio && <audio src={url} controls aria-label={`Sound of the server, ${type}`} />}
      <p>
        <span class="hint">
          {plainLine(mimeType)} {sizeText(bytes.length)}
        </span>{" "}
        {url && (
          <a href={url} download="content">
            Download
          </a>
        )}
      </p>
    </div>
  );
}

function decoded(data: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Text that is folded if it is long, because laying it out takes time. */
export function LongText(props: { text: string }) {
  const [whole, setWhole] = useState(false);
  const { text } = props;
  const folded = text.length > FOLDED && !whole;
  return (
    <>
      <pre class="text" tabIndex={0} role="group" aria-label="Text">
        {plainText(folded ? text.slice(0, FOLDED) : text)}
      </pre>
      {folded && (
        <button type="button" class="small" onClick={() => setWhole(true)}>
          Show all {text.length} characters
        </button>
      )}
    </>
  );
}

export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
