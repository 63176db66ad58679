//! Bundles a view: puts the scripts, styles, images and fonts of an HTML document into the document.
//!
//! A view can load nothing but itself, unless it declares origins. The bundler reads the files of the document through a
//! function of the caller. It is not a build tool: it does not resolve modules or packages, and nothing remote is used.

mod local_path;
mod style_sheet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::apps::bundle::local_path::{Reference, reference};
use crate::apps::html_tag::{self, Tag, end_of_raw_text, next_tag};
use crate::apps::{InvalidView, MAX_DOCUMENT_BYTES};
use crate::http::truncated_for_display;

/// The function that reads a file. Its path is relative to the directory of the document, with `/` between segments. The
/// function returns the reason if the file cannot be read.
pub type LoadFile<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

/// The media types of files that become `data:` URLs.
const MEDIA_TYPES: [(&str, &str); 19] = [
    ("avif", "image/avif"),
    ("gif", "image/gif"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("m4a", "audio/mp4"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ogg", "audio/ogg"),
    ("otf", "font/otf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("ttf", "font/ttf"),
    ("vtt", "text/vtt"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
];

/// Relations of `link` that only announce what is loaded later.
const HINTS: [&str; 5] = [
    "dns-prefetch",
    "modulepreload",
    "preconnect",
    "prefetch",
    "preload",
];

/// Returns the document with its local files inside of it.
///
/// ```
/// use toolwire_proto::apps::bundle::bundle;
///
/// let html = r#"<!doctype html><script src="app.js"></script>"#;
/// let bundled = bundle(html, &mut |path| Ok(format!("/* {path} */").into_bytes())).unwrap();
/// assert_eq!(bundled, "<!doctype html><script>/* app.js */</script>");
/// ```
///
/// # Errors
/// Returns an error that names the tag if it refers to another machine or to a file that cannot be used, or if the
/// document becomes larger than 4 MiB.
pub fn bundle(html: &str, load: &mut LoadFile<'_>) -> Result<String, InvalidView> {
    let mut bundler = Bundler {
        html,
        load,
        output: String::with_capacity(html.len()),
        deferred: String::new(),
        body_end: None,
    };
    let mut position = 0;
    while let Some(tag) = next_tag(html, position) {
        let text = bundler.push(&html[position..tag.start]);
        let outcome = text.and_then(|()| bundler.tag(&tag));
        position = outcome.map_err(|problem| {
            let shown = truncated_for_display(&html[tag.start..tag.end]);
            InvalidView::new(format!("{shown}: {problem}"))
        })?;
    }
    let rest = bundler.push(&html[position..]);
    rest.map_err(InvalidView::new)?;
    Ok(bundler.finish())
}

struct Bundler<'a, 'l> {
    html: &'a str,
    load: &'a mut LoadFile<'l>,
    output: String,
    /// The scripts that run after the document was parsed.
    deferred: String,
    /// The position of the end tag of the body in the output, or else of the end tag of the document.
    body_end: Option<usize>,
}

impl Bundler<'_, '_> {
    /// Writes a tag, and the text of a script or style element. Returns the position in the document after it.
    fn tag(&mut self, tag: &Tag<'_>) -> Result<usize, String> {
        if tag.is_end {
            let ends_body = tag.name == "body" || (tag.name == "html" && self.body_end.is_none());
            if ends_body {
                self.body_end = Some(self.output.len());
            }
            self.push(&self.html[tag.start..tag.end])?;
            return Ok(tag.end);
        }
        if tag.value("srcset").is_some() {
            return Err("`srcset` cannot be bundled; use `src`".to_owned());
        }
        match tag.name.as_str() {
            "script" => return self.script(tag),
            "style" => return self.style(tag),
            "textarea" | "title" => {
                let end = end_of_raw_text(self.html, tag.end, &tag.name);
                self.push(&self.html[tag.start..end])?;
                return Ok(end);
            }
            "link" => self.reference_tag(tag)?,
            "base" if tag.value("href").is_some() => {
                return Err("a bundled document has no other address; remove the tag".to_owned());
            }
            "iframe" | "frame" | "embed" if tag.value("src").is_some() => {
                return Err("another document cannot be bundled; remove the tag".to_owned());
            }
            "object" if tag.value("data").is_some() => {
                return Err("another document cannot be bundled; remove the tag".to_owned());
            }
            "use" => match tag.value("href").or_else(|| tag.value("xlink:href")) {
                Some(href) if !href.starts_with('#') => {
                    return Err("copy the symbol into the document".to_owned());
                }
                _ => self.with_data(tag, &[])?,
            },
            "img" | "input" | "audio" | "source" | "track" => self.with_data(tag, &["src"])?,
            "video" => self.with_data(tag, &["src", "poster"])?,
            "image" | "feimage" => self.with_data(tag, &["href", "xlink:href"])?,
            _ => self.with_data(tag, &[])?,
        }
        Ok(tag.end)
    }

    /// Writes a script element. A file becomes its text.
    fn script(&mut self, tag: &Tag<'_>) -> Result<usize, String> {
        let text_end = end_of_raw_text(self.html, tag.end, "script");
        let is_module = tag
            .value("type")
            .is_some_and(|kind| kind.eq_ignore_ascii_case("module"));
        let Some(src) = tag.value("src") else {
            let text = &self.html[tag.end..text_end];
            check_imports(is_module, text)?;
            self.push(&self.html[tag.start..text_end])?;
            return Ok(text_end);
        };
        let Reference::Local(path) = reference("", src)? else {
            return Err("write the script into the element".to_owned());
        };
        let text = self.text(&path)?;
        check_imports(is_module, &text)?;
        let dropped = ["src", "async", "defer", "crossorigin", "integrity"];
        let start = self.start_tag(tag, |name| !dropped.contains(&name));
        // The text must not end the element.
        let text = text.replace("<!--", "<\\!--");
        let text = replace_ignoring_case(&text, "</script", "<\\/script");
        let element = format!("{start}{text}</script>");
        // A script without a file cannot be deferred by its attribute. Modules are always deferred.
        let is_deferred = tag.has("defer") && !tag.has("async") && !is_module;
        if is_deferred {
            self.check_size(element.len())?;
            self.deferred.push_str(&element);
        } else {
            self.push(&element)?;
        }
        // The element is written, so its end tag is left out.
        Ok(next_tag(self.html, text_end).map_or(text_end, |end| end.end))
    }

    fn style(&mut self, tag: &Tag<'_>) -> Result<usize, String> {
        let text_end = end_of_raw_text(self.html, tag.end, "style");
        self.push(&self.html[tag.start..tag.end])?;
        let text = self.style_text("", &self.html[tag.end..text_end])?;
        self.push(&text)?;
        Ok(text_end)
    }

    /// Writes a `link` tag, or the style sheet that it names.
    fn reference_tag(&mut self, tag: &Tag<'_>) -> Result<(), String> {
        let relations = tag.value("rel").unwrap_or_default().to_ascii_lowercase();
        let has = |relation: &str| {
            relations
                .split_ascii_whitespace()
                .any(|one| one == relation)
        };
        if has("stylesheet") {
            let href = tag.value("href").unwrap_or_default();
            let Reference::Local(path) = reference("", href)? else {
                return Err("write the style sheet into a `style` element".to_owned());
            };
            let text = self.text(&path)?;
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            let text = self.style_text(directory, &text)?;
            let media = match tag.value("media") {
                Some(media) => format!(" media=\"{}\"", html_tag::escaped(media)),
                None => String::new(),
            };
            let text = replace_ignoring_case(&text, "</style", "<\\/style");
            return self.push(&format!("<style{media}>{text}</style>"));
        }
        if HINTS.iter().any(|hint| has(hint)) {
            return Ok(());
        }
        if has("icon") || has("apple-touch-icon") {
            return self.with_data(tag, &["href"]);
        }
        if has("manifest") {
            return Err("a view has no manifest; remove the tag".to_owned());
        }
        self.with_data(tag, &[])
    }

    /// Writes a tag. The files in these attributes, and in `style`, become `data:` URLs.
    fn with_data(&mut self, tag: &Tag<'_>, attributes: &[&str]) -> Result<(), String> {
        let mut position = tag.start;
        for attribute in &tag.attributes {
            let value = if attributes.contains(&attribute.name.as_str()) {
                self.data_url("", &attribute.value)?
            } else if attribute.name == "style" && attribute.value.contains('(') {
                Some(self.style_text("", &attribute.value)?)
            } else {
                None
            };
            if let Some(value) = value {
                self.push(&self.html[position..attribute.start])?;
                self.push(&format!(
                    "{}=\"{}\"",
                    attribute.name,
                    html_tag::escaped(&value)
                ))?;
                position = attribute.end;
            }
        }
        self.push(&self.html[position..tag.end])
    }

    /// Returns a style sheet whose files are `data:` URLs. Its references are relative to `directory`.
    fn style_text(&mut self, directory: &str, text: &str) -> Result<String, String> {
        let base = self.output.len();
        style_sheet::with_data(text, &mut |url, written| {
            let data = self.data_url(directory, url)?;
            let added = data.as_ref().map_or(0, String::len);
            check_total(base + self.deferred.len() + written + added)?;
            Ok(data)
        })
    }

    /// Returns the `data:` URL for a file, or `None` if the reference needs no file.
    fn data_url(&mut self, directory: &str, url: &str) -> Result<Option<String>, String> {
        let Reference::Local(path) = reference(directory, url)? else {
            return Ok(None);
        };
        let extension = path.rsplit_once('.').map(|(_, extension)| extension);
        let extension = extension.unwrap_or_default().to_ascii_lowercase();
        let known = MEDIA_TYPES.iter().find(|(known, _)| *known == extension);
        let Some((_, media_type)) = known else {
            return Err(format!(
                "the type of {path:?} is unknown; use a usual format of images, sounds or fonts"
            ));
        };
        let bytes = (self.load)(&path).map_err(|problem| format!("{path:?} {problem}"))?;
        self.check_size(bytes.len())?;
        Ok(Some(format!(
            "data:{media_type};base64,{}",
            STANDARD.encode(bytes)
        )))
    }

    fn text(&mut self, path: &str) -> Result<String, String> {
        let bytes = (self.load)(path).map_err(|problem| format!("{path:?} {problem}"))?;
        self.check_size(bytes.len())?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{path:?} is not UTF-8 text"))?;
        Ok(text.trim_start_matches('\u{feff}').to_owned())
    }

    /// Returns the start tag with some of its attributes.
    fn start_tag(&self, tag: &Tag<'_>, keeps: impl Fn(&str) -> bool) -> String {
        let mut text = format!("<{}", tag.name);
        for attribute in tag.attributes.iter().filter(|one| keeps(&one.name)) {
            text.push(' ');
            text.push_str(&self.html[attribute.start..attribute.end]);
        }
        text.push('>');
        text
    }

    fn push(&mut self, text: &str) -> Result<(), String> {
        self.check_size(text.len())?;
        self.output.push_str(text);
        Ok(())
    }

    fn check_size(&self, added: usize) -> Result<(), String> {
        check_total(self.output.len() + self.deferred.len() + added)
    }

    /// Inserts the deferred scripts at the end of the body.
    fn finish(mut self) -> String {
        let at = self.body_end.unwrap_or(self.output.len());
        self.output.insert_str(at, &self.deferred);
        self.output
    }
}

fn check_total(bytes: usize) -> Result<(), String> {
    if bytes > MAX_DOCUMENT_BYTES {
        return Err(format!(
            "the document with its files has more than {MAX_DOCUMENT_BYTES} bytes"
        ));
    }
    Ok(())
}

/// Rejects a module that imports another one, as far as this can be seen at the start of a line.
fn check_imports(is_module: bool, text: &str) -> Result<(), String> {
    match text.lines().find(|line| is_module && is_import(line)) {
        Some(line) => Err(format!(
            "the module has `{}`; build it into one file first",
            truncated_for_display(line.trim())
        )),
        None => Ok(()),
    }
}

/// Returns `true` if a line starts an `import`, or has the `from` of an `export`. Calls of `import()` are not found.
fn is_import(line: &str) -> bool {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix("import") {
        return rest.starts_with([' ', '{', '*', '"', '\'']);
    }
    let Some(exported) = line.strip_prefix("export") else {
        // The last line of a list of names.
        return line.strip_prefix('}').is_some_and(names_a_source);
    };
    let exported = exported.trim_start();
    if let Some(names) = exported.strip_prefix('{') {
        let after = names.split_once('}');
        return after.is_some_and(|(_, after)| names_a_source(after));
    }
    exported.strip_prefix('*').is_some_and(|all| {
        let name = all.trim_start().strip_prefix("as ");
        let after = name.and_then(|name| name.trim_start().split_once(char::is_whitespace));
        names_a_source(after.map_or(all, |(_, after)| after))
    })
}

/// Returns `true` if a text starts with `from` and the quote of a source.
fn names_a_source(text: &str) -> bool {
    let source = text.trim_start().strip_prefix("from");
    source.is_some_and(|source| source.trim_start().starts_with(['"', '\'']))
}

/// Replaces an ASCII pattern in every case.
fn replace_ignoring_case(text: &str, pattern: &str, replacement: &str) -> String {
    // The lower case of ASCII letters has the same positions.
    let lower = text.to_ascii_lowercase();
    let mut replaced = String::with_capacity(text.len());
    let mut position = 0;
    for (at, _) in lower.match_indices(pattern) {
        replaced.push_str(&text[position..at]);
        replaced.push_str(replacement);
        position = at + pattern.len();
    }
    replaced.push_str(&text[position..]);
    replaced
}

#[cfg(test)]
mod tests;
